#include "base/output_file.h"

#include <gtest/gtest.h>

#include "support/directory_contents.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle {
namespace {

TEST(OutputFile, WhatCannotBeWrittenIsRefused) {
  const TemporaryDirectory directory;
  for (const Path& path : {directory / "none" / "a.json", directory.path()}) {
    expect_error(ErrorKind::kIo, {path.string()}, [&] { check_output_file(path); });
  }
}

TEST(OutputFile, WhatCanBeIsLeftAsItIs) {
  const TemporaryDirectory directory;
  check_output_file(directory / "new.json");
  EXPECT_TRUE(names_in(directory.path()).empty());
  write_file_atomically(directory / "old.json", "kept");
  check_output_file(directory / "old.json");
  EXPECT_EQ(read_file(directory / "old.json"), "kept");
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"old.json"});
  check_output_file("/dev/null");
}

TEST(OutputFile, ANewFileIsAnythingButAnExistingOne) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "old", "kept");
  std::filesystem::create_symlink("old", directory / "link to old");
  for (const Path& path : {directory / "old", directory / "link to old", directory.path()}) {
    expect_error(ErrorKind::kConfig, {path.string(), "choose a new file"},
                 [&] { check_new_file(path); });
  }
  std::filesystem::create_symlink("missing", directory / "link to nothing");
  for (const Path& path : {directory / "new", directory / "link to nothing", Path("/dev/null")}) {
    check_new_file(path);
  }
}

}  // namespace
}  // namespace saddle
