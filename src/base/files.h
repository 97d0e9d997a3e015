// Files written whole or not at all, directories, and locks between processes.
// Every failure is an Error of kind kIo that names the path and the system's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace saddle {

using Path = std::filesystem::path;

// The whole content of a file.
std::string read_file(const Path& path);

// What is at `path`, links followed; of type not_found when nothing is.
std::filesystem::file_status file_status(const Path& path);

// Makes the directory and its parents, to last through a power failure; an error when that cannot
// be done or a file is in the way.
void make_directories(const Path& path);

// Makes what was renamed or made inside `directory` last through a power failure.
void flush_directory(const Path& directory);

// Writes `content` so that `path` holds either its old content or all of the new one, also when
// the process is killed or the disk fills: written beside, flushed to disk, renamed. What
// AtomicFile says of links and of what is no ordinary file holds here too.
void write_file_atomically(const Path& path, std::string_view content);

// A file that appears under its name only when commit() is called; until then it lies beside it
// under a private name, which the destructor removes. Small writes are gathered. After an error
// the object only serves to be destroyed.
//
// A link stays a link: the file that it leads to is replaced, and lies beside that one until then.
// What cannot be replaced is written straight, from the first full buffer on: a pipe, a terminal,
// /dev/null. The name of an open descriptor, such as /dev/stdout, stands for that descriptor, at
// its place, even if it is an ordinary file.
class AtomicFile {
 public:
  // Errors: kIo, also for a directory, a socket, a block device and a link into a directory that
  // does not exist.
  explicit AtomicFile(Path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(const void* bytes, size_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  int64_t size() const { return size_; }

  // Flushes to disk and renames; the directory entry is flushed too.
  void commit();

 private:
  void open_beside_target();
  void put(const char* bytes, size_t count);

  Path path_;
  Path target_;  // with links followed
  Path temporary_;
  std::string buffer_;
  int descriptor_ = -1;
  int64_t size_ = 0;
  bool whole_ = true;  // replaced, not written straight
  bool committed_ = false;
};

// A file that grows: what is written is in it at once.
class AppendFile {
 public:
  // `path` is made when missing. Errors, here and below: kIo.
  explicit AppendFile(Path path);
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile();

  const Path& path() const { return path_; }
  void write(std::string_view text);

 private:
  Path path_;
  int descriptor_ = -1;
};

// Removes what processes that were killed left of files that they were writing in `directory`. Only
// for who knows, by a lock, that nobody writes there now.
void remove_unfinished_files(const Path& directory);

// A file opened for reading at any 64-bit offset.
class InputFile {
 public:
  explicit InputFile(Path path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  InputFile(InputFile&& other) noexcept;
  ~InputFile();

  const Path& path() const { return path_; }
  int64_t size() const { return size_; }

  // Reads exactly `count` bytes at `offset`; an error when the file ends before.
  void read_at(int64_t offset, void* bytes, size_t count) const;

 private:
  Path path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

// An exclusive lock on `path` (made when missing, never removed), held until destruction and let
// go by the kernel when the process dies. Taken already: an Error that says who holds it and that
// `purpose` ("prepare into DIR", ...) is refused.
class FileLock {
 public:
  FileLock(const Path& path, std::string_view purpose);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  FileLock(FileLock&& other) noexcept;
  ~FileLock();

 private:
  int descriptor_ = -1;
};

}  // namespace saddle
