#include "tensor/view.h"

#include "base/error.h"

namespace saddle::tensor {

void fail_part(const char* what) {
  fail(ErrorKind::kInternal, "a part of a tensor extends past its {}", what);
}

}  // namespace saddle::tensor
