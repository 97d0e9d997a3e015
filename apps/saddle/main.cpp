// The program: reads the command line, runs one command, and turns an error into one line and an
// exit code.
#include <sys/prctl.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <system_error>

#include "base/exit_codes.h"
#include "base/standard_streams.h"
#include "base/text.h"
#include "commands.h"
#include "output_files.h"

namespace {

using saddle::ErrorKind;

int report(ErrorKind kind, const std::string& message) {
  const std::string line = saddle::printable(saddle::without_logins(message));
  std::fprintf(stderr, "saddle: error: %s\n", line.c_str());
  return saddle::exit_code(kind);
}

// Returns the command whose options were being read, to refer to its help.
std::string command_words(const CLI::App& program) {
  std::string words = "saddle";
  const CLI::App* command = &program;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    words += " " + command->get_name();
  }
  return words;
}

int run(int argc, char** argv) {
  CLI::App program(
      "saddle trains small Llama-style language models, from C4 text to an evaluated checkpoint.",
      "saddle");
  program.require_subcommand(1);
  program.footer(
      "`saddle COMMAND --help` shows the options of a command. The settings are listed by\n"
      "`saddle options` and in docs/options.md, the exit codes in docs/exit-codes.md.");
  saddle::app::Action action;
  saddle::app::add_tokenizer(program, action);
  saddle::app::add_prepare(program, action);
  saddle::app::add_train(program, action);
  saddle::app::add_evaluate(program, action);
  saddle::app::add_generate(program, action);
  saddle::app::add_compare_runs(program, action);
  saddle::app::add_report(program, action);
  saddle::app::add_analyze(program, action);
  saddle::app::add_plot_analysis(program, action);
  saddle::app::add_compare_precision(program, action);
  saddle::app::add_export(program, action);
  saddle::app::add_import(program, action);
  saddle::app::add_options(program, action);
  saddle::app::add_benchmark(program, action);
  saddle::app::add_benchmark_hvp(program, action);
  saddle::app::add_benchmark_packed(program, action);
  saddle::app::add_benchmark_worker(program, action);
  saddle::app::add_sweep(program, action);
  saddle::app::add_submit_analysis(program, action);
  saddle::app::add_jobs(program, action);
  saddle::app::add_version(program, action);
  saddle::app::add_manual(program, action);
  saddle::app::add_completion(program, action);

  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    saddle::app::print(program.help());
    return saddle::kExitSuccess;
  } catch (const CLI::ParseError& error) {
    return report(ErrorKind::kUsage,
                  fmt::format("{} (see {} --help)", error.what(), command_words(program)));
  }
  saddle::app::check_output_files(program);
  return action();
}

int run_reporting(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const saddle::Error& error) {
    return report(error.kind(), error.what());
  } catch (const std::system_error& error) {  // also what std::filesystem throws
    return report(ErrorKind::kIo, error.what());
  } catch (const std::bad_alloc&) {
    return report(ErrorKind::kInternal, "out of memory");
  } catch (const std::exception& error) {
    return report(ErrorKind::kInternal, error.what());
  }
}

// Whether main() has returned.
std::atomic<bool> returned{false};

// A library that cannot continue ends the program, as OpenMP does if its threads do not start. The
// library's exit code must not look like one of this program.
void report_exit_of_a_library() {
  if (returned) return;
  std::_Exit(report(ErrorKind::kInternal, "a library ended this program; its message is above"));
}

}  // namespace

int main(int argc, char** argv) {
  saddle::occupy_standard_streams();
  ::prctl(PR_SET_NAME, "saddle");  // also if it was started through a descriptor
  // Writing to a closed pipe is an error like others, and so is writing more than ulimit -f
  // allows. Training continues when its output no longer has a reader.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::atexit(report_exit_of_a_library);
  const int code = run_reporting(argc, argv);
  returned = true;
  return code;
}
