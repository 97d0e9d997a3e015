#include "plot/gnuplot.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/process.h"
#include "base/system_error.h"
#include "plot/figure_writer.h"

namespace saddle::plot {
namespace {

constexpr const char* kScript = "figures.gp";

// Runs the script; its files get this prefix and suffix.
void run_gnuplot(const Path& directory, const std::string& prefix, const std::string& suffix) {
  const std::string names = fmt::format("prefix='{}'; suffix='{}'", prefix, suffix);
  ProcessResult result;
  try {
    ProcessOptions options;
    options.directory = directory;
    result = run_process({"gnuplot", "-e", names, kScript}, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kDevice) throw;
    fail(ErrorKind::kDevice,
         "gnuplot, needed to draw the figures, was not found: install the package gnuplot-nox");
  }
  if (result.succeeded()) return;
  if (result.signal == SIGXFSZ) fail_system("draw figures in", directory, EFBIG);
  fail(ErrorKind::kDevice, "gnuplot failed on '{}': {}", (directory / kScript).string(),
       result.last_words());
}

// gnuplot does not report a full disk.
void check_whole(const std::string& content, bool is_png, const Path& file) {
  const std::string_view start = is_png ? "\x89PNG" : "%PDF";
  const std::string_view end = is_png ? "IEND\xae\x42\x60\x82" : "%%EOF\n";
  if (content.starts_with(start) && content.ends_with(end)) return;
  if (content.empty() || content.starts_with(start)) {
    fail(ErrorKind::kIo, "gnuplot could not write all of '{}'", file.string());
  }
  fail(ErrorKind::kDevice, "gnuplot did not draw '{}'", file.string());
}

}  // namespace

std::vector<Path> draw_figures(const Path& directory, const FigureSet& figures) {
  make_directories(directory);
  const FileLock lock(directory / "lock",
                      fmt::format("drawing figures in '{}'", directory.string()));
  remove_unfinished_files(directory);
  write_file_atomically(directory / kFigureData, figures.data);
  write_file_atomically(directory / kScript, figures.script);
  // Under names that remove_unfinished_files() removes if the process is killed.
  const std::string suffix = fmt::format(".tmp-{}-0", ::getpid());
  run_gnuplot(directory, ".", suffix);
  std::vector<Path> files;
  for (const std::string& name : figures.names) {
    for (const std::string_view kind : {"png", "pdf"}) {
      const std::string file = fmt::format("{}.{}", name, kind);
      const Path drawn = directory / fmt::format(".{}{}", file, suffix);
      const std::string content = read_file(drawn);
      check_whole(content, kind == "png", directory / file);
      write_file_atomically(directory / file, content);
      std::error_code ignored;  // a leftover file only takes space
      std::filesystem::remove(drawn, ignored);
      files.push_back(directory / file);
    }
  }
  return files;
}

}  // namespace saddle::plot
