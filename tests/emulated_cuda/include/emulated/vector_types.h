// The small vectors of CUDA, with CUDA's sizes and alignments.
#pragma once

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1)  // NOLINT: as CUDA's
      : x(x_), y(y_), z(z_) {}
  constexpr operator uint3() const { return {x, y, z}; }  // NOLINT: as CUDA's
};

struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};

inline constexpr int2 make_int2(int x, int y) {
  return {x, y};
}
inline constexpr int4 make_int4(int x, int y, int z, int w) {
  return {x, y, z, w};
}
inline constexpr uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}
inline constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}
inline constexpr float2 make_float2(float x, float y) {
  return {x, y};
}
inline constexpr float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}
inline constexpr double2 make_double2(double x, double y) {
  return {x, y};
}
