#include "plot/gnuplot.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/process.h"
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
  fail(ErrorKind::kDevice, "gnuplot failed on '{}': {}", (directory / kScript).string(),
       result.last_words());
}

void check_begins_with(const std::string& content, std::string_view start, const Path& file) {
  if (content.starts_with(start)) return;
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
      check_begins_with(content, kind == "png" ? "\x89PNG" : "%PDF", directory / file);
      write_file_atomically(directory / file, content);
      std::error_code ignored;  // a leftover file only takes space
      std::filesystem::remove(drawn, ignored);
      files.push_back(directory / file);
    }
  }
  return files;
}

}  // namespace saddle::plot
