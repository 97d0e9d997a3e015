// Makes kernels from row bodies (ops/rows.h). In a .cu file of an operation:
//
//   add_row_kernel<NormRow<float>>(table);
#pragma once

#include <algorithm>

#include "backend/cuda/groups.h"
#include "backend/cuda/kernel_table.h"

namespace saddle::backend::cuda {

// Rows of at most this many numbers are computed by a warp, others by a block.
inline constexpr int64_t kWarpWidth = 512;
inline constexpr int kWarpsOfBlock = 4;

template <class Body>
__global__ void warp_rows(Body body, int64_t rows, int64_t total) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kWarpsOfBlock;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kWarpsOfBlock + threadIdx.y; i < total;
       i += step) {
    body(WarpGroup(), i / rows, i % rows);
  }
}

template <class Body>
__global__ void block_rows(Body body, int64_t rows, int64_t total) {
  for (int64_t i = blockIdx.x; i < total; i += gridDim.x) body(BlockGroup(), i / rows, i % rows);
}

template <class Body>
void start_rows(const Rows& rows, const void* body, cudaStream_t stream) {
  constexpr int64_t kMostBlocks = int64_t{1} << 30;
  const int64_t total = rows.workers * rows.rows;
  const auto grid = [&](int64_t of_block) {
    return dim3(static_cast<unsigned>(std::min(kMostBlocks, (total + of_block - 1) / of_block)));
  };
  const Body& copied = *static_cast<const Body*>(body);
  if (rows.width <= kWarpWidth) {
    launch(grid(kWarpsOfBlock), dim3(32, kWarpsOfBlock), 0, stream, warp_rows<Body>, copied,
           rows.rows, total);
  } else {
    launch(grid(1), dim3(BlockGroup::kCount), 0, stream, block_rows<Body>, copied, rows.rows,
           total);
  }
}

template <class Body>
void add_row_kernel(KernelTable& table) {
  table.add(typeid(Body), start_rows<Body>);
}

}  // namespace saddle::backend::cuda
