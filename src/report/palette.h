// The colour and dash pattern that distinguish each run of a report.
#pragma once

#include <array>
#include <cstddef>

namespace saddle::report {

// Colours after Okabe and Ito, which colour-blind people can tell apart. Colours that are too light
// for white paper are darkened, those that are too dark for a dark screen are lightened. Each has a
// contrast of at least 3 to its background.
struct Color {
  const char* on_light;
  const char* on_dark;
};
inline constexpr std::array<Color, 7> kColors = {{{"#0072B2", "#56B4E9"},
                                                  {"#D55E00", "#FF8A4C"},
                                                  {"#00855F", "#2FC89B"},
                                                  {"#A8327A", "#E48CBF"},
                                                  {"#8A6D00", "#E6C229"},
                                                  {"#4B4B4B", "#D0D0D0"},
                                                  {"#6A4FC2", "#A99BF0"}}};

// Lengths of dashes and gaps in pixels; the first is solid. The number of patterns and the number
// of colours have no common factor, so that 35 runs look different.
inline constexpr std::array<const char*, 5> kDashes = {"", "8 4", "2 3", "10 3 2 3", "14 5"};

inline const Color& color_of(size_t run) {
  return kColors[run % kColors.size()];
}
inline const char* dashes_of(size_t run) {
  return kDashes[run % kDashes.size()];
}

}  // namespace saddle::report
