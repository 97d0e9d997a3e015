#include "base/staged_directory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "base/error.h"
#include "support/child_process.h"
#include "support/directory_contents.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle {
namespace {

void write_into(StagedDirectory& directory, const std::string& text) {
  write_file_atomically(directory.path() / "file", text);
}

TEST(StagedDirectory, AppearsWhenItIsPublished) {
  const TemporaryDirectory scratch;
  const Path target = scratch.path() / "parent" / "result";
  StagedDirectory directory(target.string() + "/");
  write_into(directory, "whole");
  EXPECT_FALSE(std::filesystem::exists(target));
  directory.publish();
  EXPECT_EQ(read_file(target / "file"), "whole");
  EXPECT_EQ(names_in(target.parent_path()), std::vector<std::string>{"result"});
}

TEST(StagedDirectory, LeavesNothingWhenItIsNotPublished) {
  const TemporaryDirectory scratch;
  {
    StagedDirectory directory(scratch / "result");
    write_into(directory, "half");
  }
  EXPECT_TRUE(names_in(scratch.path()).empty());
  { const StagedDirectory nested(scratch / "new" / "parents" / "result"); }
  EXPECT_TRUE(names_in(scratch.path()).empty());
  write_file_atomically(scratch / "file", "");
  expect_error(ErrorKind::kIo, {"file"},
               [&] { StagedDirectory refused(scratch / "file" / "new" / "result"); });
  EXPECT_EQ(names_in(scratch.path()), std::vector<std::string>{"file"});
}

TEST(StagedDirectory, ReplacesAnEmptyDirectoryAndRefusesOthers) {
  const TemporaryDirectory scratch;
  std::filesystem::create_directory(scratch / "empty");
  StagedDirectory directory(scratch / "empty");
  write_into(directory, "whole");
  directory.publish();
  write_file_atomically(scratch / "file", "mine");
  std::filesystem::create_directory_symlink(scratch / "nowhere", scratch / "link");
  for (const char* name : {"empty", "file", "link"}) {
    expect_error(ErrorKind::kConfig, {name, "already exists"},
                 [&] { StagedDirectory refused(scratch / name); });
  }
  EXPECT_EQ(read_file(scratch / "empty" / "file"), "whole");
}

TEST(StagedDirectory, ALinkToAnEmptyDirectoryStaysALink) {
  const TemporaryDirectory scratch;
  make_directories(scratch / "elsewhere/empty");
  std::filesystem::create_directory_symlink("elsewhere/empty", scratch / "link");
  StagedDirectory directory(scratch / "link/");
  write_into(directory, "whole");
  directory.publish();
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "link"));
  EXPECT_EQ(read_file(scratch / "elsewhere/empty/file"), "whole");
}

TEST(StagedDirectory, TheSecondOfTwoWritersIsRefusedWhenItPublishes) {
  const TemporaryDirectory scratch;
  StagedDirectory first(scratch / "result");
  StagedDirectory second(scratch / "result");
  write_into(first, "first");
  write_into(second, "second");
  first.publish();
  expect_error(ErrorKind::kConfig, {"already exists"}, [&] { second.publish(); });
  EXPECT_EQ(read_file(scratch / "result" / "file"), "first");
}

TEST(StagedDirectory, FailureToOpenIsAnErrorAndLeavesNothing) {
#if defined(__SANITIZE_ADDRESS__)
  // The sanitizer's check of an object's type opens a pipe, which the limit below forbids.
  GTEST_SKIP() << "the undefined-behaviour sanitizer needs free descriptors to check an Error";
#endif
  const TemporaryDirectory scratch;
  ChildProcess child([&] {
    const int free = ::dup(STDIN_FILENO);  // the next descriptor; it and later ones are forbidden
    ::close(free);
    const rlimit limit{static_cast<rlim_t>(free), static_cast<rlim_t>(free)};
    if (free < 0 || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 2;
    try {
      const StagedDirectory directory(scratch / "result");
    } catch (const Error& error) {
      const bool told = std::string(error.what()).find("Too many open files") != std::string::npos;
      return error.kind() == ErrorKind::kIo && told ? 0 : 3;
    }
    return 4;
  });
  EXPECT_EQ(child.exit_status(), 0);
  EXPECT_TRUE(names_in(scratch.path()).empty());
}

TEST(StagedDirectory, TheNextWriterRemovesWhatAKilledOneLeft) {
  const TemporaryDirectory scratch;
  ChildProcess child([&] {
    StagedDirectory directory(scratch / "result");
    write_into(directory, "half");
    return ::raise(SIGKILL);
  });
  child.wait();
  EXPECT_EQ(names_in(scratch.path()), std::vector<std::string>{".result.staged-0"});
  StagedDirectory directory(scratch / "result");
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  write_into(directory, "whole");
  directory.publish();
  EXPECT_EQ(names_in(scratch.path()), std::vector<std::string>{"result"});
}

}  // namespace
}  // namespace saddle
