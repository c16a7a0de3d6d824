// The reference of expert routing: lanes/router.h over the reference's rows.
#include "kernels/lanes/router.h"

#include "kernels/reference/reference.h"

namespace inferd::kernels::reference {
namespace {

struct Rows {
  static void Softmax(const float* x, int64_t n, float* out) { reference::Softmax(x, n, out); }
  static void Sigmoid(const float* x, int64_t n, float* out) { ActivateRow(Activation::kSigmoid, x, n, out); }
  static int32_t TopK(const float* x, int64_t n, int32_t k, TopEntry* top) { return reference::TopK(x, n, k, top); }
};

}  // namespace

void Route(const RouterArguments& arguments) { RouteWith<Rows>(arguments); }

}  // namespace inferd::kernels::reference
