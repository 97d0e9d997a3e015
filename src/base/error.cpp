#include "base/error.h"

#include "base/text.h"

namespace saddle {

Error::Error(ErrorKind kind, std::string_view message)
    : std::runtime_error(printable(message)), kind_(kind) {}

}  // namespace saddle
