#include "number_options.h"

#include "base/error.h"

namespace saddle::app {
namespace {

config::Value plain(const std::string& text) {
  return {.kind = config::Value::Kind::kPlain, .text = text};
}

template <class Type>
std::string refusal(const Type& allowed, const std::string& text) {
  return fmt::format("'{}' is not {}", text, allowed.allowed());
}

std::string written(int64_t number) {
  return std::to_string(number);
}
std::string written(double number) {
  return fmt::format("{:a}", number);  // in base 16: every bit
}

// Refuses a text, or rewrites it in a form that CLI11 reads as the same number.
template <class Type>
CLI::Validator reader(const Type& allowed) {
  const auto read = [allowed](std::string& text) {
    typename Type::Type number{};
    if (!allowed.read(plain(text), number)) return refusal(allowed, text);
    text = written(number);
    return std::string();
  };
  return {read, ""};
}

}  // namespace

CLI::Option* add_number(CLI::App& command, const std::string& name, int64_t& target,
                        const config::Integer& allowed, const std::string& description) {
  return command.add_option(name, target, description)->transform(reader(allowed));
}

CLI::Option* add_number(CLI::App& command, const std::string& name, std::vector<int64_t>& target,
                        const config::Integer& allowed, const std::string& description) {
  return command.add_option(name, target, description)->transform(reader(allowed));
}

CLI::Option* add_number(CLI::App& command, const std::string& name, double& target,
                        const config::Real& allowed, const std::string& description) {
  return command.add_option(name, target, description)->transform(reader(allowed));
}

int64_t read_number(const std::string& option, const std::string& text,
                    const config::Integer& allowed) {
  int64_t number = 0;
  if (!allowed.read(plain(text), number)) {
    fail(ErrorKind::kUsage, "{}: {}", option, refusal(allowed, text));
  }
  return number;
}

}  // namespace saddle::app
