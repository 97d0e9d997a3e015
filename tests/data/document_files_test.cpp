#include "data/document_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/fixtures.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle::data {
namespace {

using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

Texts names_of(const std::vector<Path>& paths) {
  Texts names;
  for (const Path& path : paths) names.push_back(path.filename().string());
  return names;
}

Texts names_of(const std::vector<IgnoredFile>& files) {
  Texts names;
  for (const IgnoredFile& file : files) names.push_back(file.path.filename().string());
  return names;
}

class DocumentFilesTest : public ::testing::Test {
 protected:
  void touch(const Texts& names) const {
    for (const std::string& name : names) {
      make_directories((directory_ / name).parent_path());
      write_bytes(directory_ / name, "{\"text\":\"x\"}\n");
    }
  }
  std::string at(const std::string& name) const { return (directory_ / name).string(); }
  std::string folder() const { return directory_.path().string(); }
  TemporaryDirectory directory_;
};

TEST_F(DocumentFilesTest, FolderIsSplitByNameAndSorted) {
  touch({"c4-train.00001-of-00002.json.gz", "c4-train.00000-of-00002.json.gz",
         "c4-validation.00000-of-00001.json.gz", "train.jsonl", "notes.json", "train.txt",
         ".train.json", "below/train.json", "a-train.jsonl.gz"});
  const DocumentFiles files = find_document_files({folder()});
  EXPECT_EQ(names_of(files.train), (Texts{"a-train.jsonl.gz", "c4-train.00000-of-00002.json.gz",
                                          "c4-train.00001-of-00002.json.gz", "train.jsonl"}));
  EXPECT_EQ(names_of(files.validation), Texts{"c4-validation.00000-of-00001.json.gz"});
  EXPECT_EQ(names_of(files.ignored), Texts{"notes.json"});
}

TEST_F(DocumentFilesTest, GlobAndList) {
  touch({"x/train-2.json", "y/train-1.json", "x/validation.json"});
  const DocumentFiles files =
      find_document_files({folder() + "/*/train-?.json", at("x/validation.json")});
  EXPECT_EQ(names_of(files.train), (Texts{"train-1.json", "train-2.json"}));
  EXPECT_EQ(names_of(files.validation), Texts{"validation.json"});
  // However they are given, the same files come in the same order, each once.
  const DocumentFiles again =
      find_document_files({at("x"), at("y"), at("x/validation.json"), at("y/../x/train-2.json")});
  EXPECT_EQ(names_of(again.train), names_of(files.train));
  EXPECT_EQ(names_of(again.validation), names_of(files.validation));
}

TEST_F(DocumentFilesTest, AnExistingNameIsNotAPattern) {
  touch({"part[1].train.jsonl", "part1.train.jsonl", "what?.validation.jsonl", "set [a]/train.json",
         "set [a]/validation.json"});
  const DocumentFiles files =
      find_document_files({at("part[1].train.jsonl"), at("what?.validation.jsonl")});
  EXPECT_EQ(names_of(files.train), Texts{"part[1].train.jsonl"});
  EXPECT_EQ(names_of(files.validation), Texts{"what?.validation.jsonl"});
  EXPECT_EQ(names_of(find_document_files({at("set [a]")}).train), Texts{"train.json"});
  // In a pattern the name is escaped, which the message says.
  expect_error(ErrorKind::kData, {"no document files in", "\\[ stands for a ["},
               [&] { find_document_files({folder() + "/set [a]/*.json"}); });
  EXPECT_EQ(names_of(find_document_files({folder() + "/set \\[a\\]/*.json"}).train),
            Texts{"train.json"});
}

TEST_F(DocumentFilesTest, NamesDoNotMatterWhenSplitsAreGivenSeparately) {
  touch({"corpus.jsonl", "held-out.jsonl", "more/a.json", "more/b.json"});
  DocumentFiles files = find_document_files({at("corpus.jsonl")}, {at("held-out.jsonl")});
  EXPECT_EQ(names_of(files.train), Texts{"corpus.jsonl"});
  EXPECT_EQ(names_of(files.validation), Texts{"held-out.jsonl"});
  files = find_document_files({at("corpus.jsonl"), at("more")}, {at("held-out.jsonl")});
  EXPECT_EQ(names_of(files.train), (Texts{"a.json", "b.json", "corpus.jsonl"}));
  // A file that is given for one split is not taken for the other along with its folder.
  files = find_document_files({at("more")}, {at("more/b.json")});
  EXPECT_EQ(names_of(files.train), Texts{"a.json"});
  EXPECT_EQ(names_of(files.validation), Texts{"b.json"});
  EXPECT_EQ(names_of(files.ignored), Texts{"b.json"});
  files = find_document_files({at("more/a.json")}, {folder() + "/more/*"});
  EXPECT_EQ(names_of(files.validation), Texts{"b.json"});
}

TEST_F(DocumentFilesTest, SeparateSplitsLeaveOutFilesOfTheOther) {
  touch({"c4-train.0.json", "c4-validation.0.json", "own.json"});
  DocumentFiles files = find_document_files({folder()}, {at("own.json")});
  EXPECT_EQ(names_of(files.train), Texts{"c4-train.0.json"});
  EXPECT_EQ(names_of(files.ignored), (Texts{"c4-validation.0.json", "own.json"}));
  EXPECT_THAT(files.ignored[0].reason, HasSubstr("says validation"));
  // A file that is named individually is used.
  files = find_document_files({at("c4-validation.0.json")}, {at("own.json")});
  EXPECT_EQ(names_of(files.train), Texts{"c4-validation.0.json"});
}

TEST_F(DocumentFilesTest, AFileInBothSplitsIsAnError) {
  touch({"own.json", "more/a.json"});
  std::filesystem::create_symlink(at("own.json"), at("link.json"));
  for (const auto& both :
       {std::pair(at("own.json"), at("own.json")), std::pair(at("own.json"), at("link.json")),
        std::pair(at("more"), folder() + "/more/*.json")}) {
    expect_error(ErrorKind::kConfig, {".json", "both a training file"},
                 [&] { find_document_files({both.first}, {both.second}); });
  }
}

TEST_F(DocumentFilesTest, MissingFilesAreReported) {
  expect_error(ErrorKind::kData, {folder(), "no document files", "found 0 other files"},
               [&] { find_document_files({folder()}); });
  expect_error(ErrorKind::kData, {"no document files in", "none/*.json"},
               [&] { find_document_files({folder() + "/none/*.json"}); });
  expect_error(ErrorKind::kData, {"none.jsonl", "no such file or folder"},
               [&] { find_document_files({at("none.jsonl")}); });
  expect_error(ErrorKind::kConfig, {"no source"}, [] { find_document_files({}); });
  expect_error(ErrorKind::kConfig, {"no source"}, [] { find_document_files({""}); });
  touch({"train.jsonl", "corpus.jsonl"});
  expect_error(ErrorKind::kData,
               {"train.jsonl has no validation files", "1 files whose names say train",
                "data.validation_source"},
               [&] { find_document_files({at("train.jsonl")}); });
  expect_error(ErrorKind::kData, {"corpus.jsonl has no train files", "1 neither"},
               [&] { find_document_files({at("corpus.jsonl")}); });
  expect_error(ErrorKind::kData,
               {"data.source", "has no files of its own", "train.jsonl", "named as a validation"},
               [&] { find_document_files({folder() + "/train*"}, {at("train.jsonl")}); });
  touch({"train-validation.json"});
  expect_error(ErrorKind::kData, {"train-validation.json", "both"},
               [&] { find_document_files({folder()}); });
}

TEST_F(DocumentFilesTest, OtherCompressionsAreNamed) {
  touch({"zst/c4-train.0.json.zst", "zst/c4-validation.0.json.zst", "both/train.json",
         "both/train.json.zst", "both/validation.json"});
  for (const std::string& source :
       {at("zst"), folder() + "/zst/*", at("zst/c4-train.0.json.zst"), at("both/train.json.zst")}) {
    expect_error(ErrorKind::kData, {".json.zst", "expected .gz or plain"},
                 [&] { find_document_files({source}); });
  }
  const DocumentFiles files = find_document_files({at("both")});
  EXPECT_EQ(names_of(files.train), Texts{"train.json"});
  EXPECT_EQ(names_of(files.ignored), Texts{"train.json.zst"});
}

}  // namespace
}  // namespace saddle::data
