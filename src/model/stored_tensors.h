// The tensors of one safetensors file, or of the several files of a folder, read as float32.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "model/safetensors.h"

namespace saddle::model {

class StoredTensors {
 public:
  // `path`: a safetensors file, or a folder with model.safetensors or with
  // model.safetensors.index.json and the files that it lists.
  // Errors: kData for damaged files, a folder without either, or an index that does not match its
  // files.
  explicit StoredTensors(const Path& path);

  const std::string& where() const { return where_; }  // for messages
  // The metadata of the file, or of the first file.
  const std::map<std::string, std::string>& metadata() const { return readers_.front().metadata(); }
  std::vector<std::string> names() const;
  std::vector<std::string> dtypes() const;  // each once, sorted

  const TensorEntry* find(const std::string& name) const;  // null if there is none
  const TensorEntry& at(const std::string& name) const;    // kData if there is none

  // The numbers of a tensor, converted exactly. Errors: kData for a type other than F32, F16, BF16.
  std::vector<float> read(const std::string& name) const;

 private:
  struct Place {
    size_t reader;
    const TensorEntry* entry;
  };
  void open(const Path& path);
  void open_listed(const Path& folder, const Path& index);

  std::string where_;
  std::vector<SafetensorsReader> readers_;
  std::map<std::string, Place> places_;
};

// The number with these 16 bits; a float represents it exactly.
float float_from_f16(uint16_t bits);   // IEEE 754 binary16
float float_from_bf16(uint16_t bits);  // the upper half of a float

}  // namespace saddle::model
