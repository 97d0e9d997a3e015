#include "base/exit_codes.h"

namespace saddle {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return 2;
    case ErrorKind::kConfig:
      return 3;
    case ErrorKind::kData:
      return 4;
    case ErrorKind::kIo:
      return 5;
    case ErrorKind::kNumeric:
      return 6;
    case ErrorKind::kDevice:
      return 7;
    case ErrorKind::kInternal:
      break;
  }
  return 70;
}

ErrorKind error_kind(int code) {
  for (const ErrorKind kind : {ErrorKind::kUsage, ErrorKind::kConfig, ErrorKind::kData,
                               ErrorKind::kIo, ErrorKind::kNumeric, ErrorKind::kDevice}) {
    if (exit_code(kind) == code) return kind;
  }
  return ErrorKind::kInternal;
}

std::vector<ExitCode> exit_codes() {
  return {{kExitSuccess, "success"},
          {exit_code(ErrorKind::kUsage), "usage"},
          {exit_code(ErrorKind::kConfig), "config"},
          {exit_code(ErrorKind::kData), "data"},
          {exit_code(ErrorKind::kIo), "io"},
          {exit_code(ErrorKind::kNumeric), "numeric"},
          {exit_code(ErrorKind::kDevice), "device"},
          {exit_code(ErrorKind::kInternal), "internal"},
          {kExitStopped, "stopped"}};
}

}  // namespace saddle
