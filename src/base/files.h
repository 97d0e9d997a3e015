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

// The type of what is at `path`, links followed; not_found if there is nothing.
std::filesystem::file_status file_status(const Path& path);

// Creates the directory and its parents, durable across a power failure. Errors: also if a file is
// in the way.
void make_directories(const Path& path);

// Makes renames and new files inside `directory` durable across a power failure.
void flush_directory(const Path& directory);

// Writes `content` so that `path` contains either its old content or all of the new content, even
// if the process is killed or the disk fills: a temporary file in the same directory is written,
// flushed to disk and renamed. Links and special files are treated as by AtomicFile.
void write_file_atomically(const Path& path, std::string_view content);

// A file that appears under its name only when commit() is called; until then its content is in a
// private file in the same directory, which the destructor removes. Small writes are buffered.
// After an error the object can only be destroyed.
//
// The file that is replaced keeps its mode and, if this process may set them, its owner and group.
//
// A link stays a link: the file that it leads to is replaced, and the private file is next to that.
// What cannot be replaced is written directly, from the first full buffer on: a pipe, a terminal,
// /dev/null. The name of an open descriptor, such as /dev/stdout, stands for that descriptor at its
// current offset, even if it is an ordinary file.
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
  bool whole_ = true;  // replaced, not written directly
  bool committed_ = false;
};

// A file that grows: writes go to it at once.
class AppendFile {
 public:
  // Creates `path` if it is missing. Errors, here and below: kIo.
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

// Removes the temporary files that killed processes left in `directory`. The caller must know, by a
// lock, that nobody writes there now.
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

  // Reads exactly `count` bytes at `offset`; an error if the file ends earlier.
  void read_at(int64_t offset, void* bytes, size_t count) const;

 private:
  Path path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

// An exclusive lock on `path` (created if missing, never removed), held until destruction and
// released by the kernel when the process dies. If it is taken already: an Error that names the
// holder and says that `purpose` ("prepare into DIR", ...) is refused.
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
