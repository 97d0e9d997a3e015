#include "model/weights_file.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "model/model_note.h"

namespace saddle::model {
namespace {

std::vector<int64_t> file_shape(const tensor::Slot& slot) {
  if (slot.is_vector) return {slot.cols};
  return {slot.rows, slot.cols};
}

template <class File, class T>
std::vector<T> read_as(const SafetensorsReader& reader, const TensorEntry& entry, int64_t count) {
  std::vector<File> stored(count);
  reader.read(entry, 0, count, stored.data());
  if constexpr (std::is_same_v<File, T>) {
    return stored;
  } else {
    return std::vector<T>(stored.begin(), stored.end());
  }
}

template <class T>
std::vector<T> read_tensor(const SafetensorsReader& reader, const std::string& name,
                           const tensor::Slot& slot) {
  const TensorEntry* entry = reader.find(name);
  if (entry == nullptr) {
    fail(ErrorKind::kData, "{}: tensor {} is missing", reader.path().string(), name);
  }
  if (entry->shape != file_shape(slot)) {
    fail(ErrorKind::kData, "{}: tensor {} has shape [{}], but the model needs [{}]",
         reader.path().string(), name, fmt::join(entry->shape, ", "),
         fmt::join(file_shape(slot), ", "));
  }
  if (entry->dtype == "F32") return read_as<float, T>(reader, *entry, slot.size());
  if (entry->dtype == "F64") return read_as<double, T>(reader, *entry, slot.size());
  fail(ErrorKind::kData, "{}: tensor {} has type {}, expected F32 or F64", reader.path().string(),
       name, entry->dtype);
}

// Throws an Error that begins with `where` if a number of the tensor is not finite.
template <class T>
void check_finite(ErrorKind kind, const std::string& where, const std::string& name,
                  const std::vector<T>& values) {
  const auto bad =
      std::find_if(values.begin(), values.end(), [](T x) { return !std::isfinite(x); });
  if (bad != values.end()) {
    fail(kind, "{}: tensor {} holds {} at element {}, expected a finite number", where, name, *bad,
         bad - values.begin());
  }
}

template <class File>
void write_tensor(SafetensorsWriter& writer, const std::string& name,
                  const std::vector<File>& values) {
  check_finite(ErrorKind::kNumeric, writer.path().string() + " was not written", name, values);
  writer.write(values.data(), values.size() * sizeof(File));
}

}  // namespace

std::vector<TensorEntry> arena_entries(const tensor::Layout& layout, std::string_view prefix,
                                       std::string_view dtype) {
  std::vector<TensorEntry> entries;
  for (const tensor::Slot& slot : layout.slots()) {
    TensorEntry entry;
    entry.name = std::string(prefix) + slot.name;
    entry.dtype = dtype;
    entry.shape = file_shape(slot);
    entries.push_back(entry);
  }
  return entries;
}

template <class File, class T>
void write_arena(SafetensorsWriter& writer, std::string_view prefix, const backend::Arena<T>& arena,
                 int64_t worker) {
  for (size_t i = 0; i < arena.layout().slots().size(); ++i) {
    const std::string name = std::string(prefix) + arena.layout().slots()[i].name;
    const std::vector<T> host = backend::to_host<T>(
        arena.context(), arena.view(static_cast<int>(i)).worker_range(worker, 1));
    if constexpr (std::is_same_v<File, T>) {
      write_tensor(writer, name, host);
    } else {
      write_tensor(writer, name, std::vector<File>(host.begin(), host.end()));
    }
  }
}

template <class T>
void read_arena(const SafetensorsReader& reader, std::string_view prefix, backend::Arena<T>& arena,
                int64_t worker) {
  for (size_t i = 0; i < arena.layout().slots().size(); ++i) {
    const tensor::Slot& slot = arena.layout().slots()[i];
    const std::vector<T> host = read_tensor<T>(reader, std::string(prefix) + slot.name, slot);
    backend::copy_from_host<T>(arena.context(), host.data(), 0,
                               arena.view(static_cast<int>(i)).worker_range(worker, 1));
  }
}

template <class T>
void save_weights(const Path& path, const backend::Arena<T>& arena, int64_t worker,
                  const std::map<std::string, std::string>& metadata) {
  SafetensorsWriter writer(path, arena_entries(arena.layout(), "", "F32"), metadata);
  write_arena<float>(writer, "", arena, worker);
  writer.commit();
}

template <class T>
void load_weights(const Path& path, const config::ModelSettings& model, backend::Arena<T>& arena) {
  const SafetensorsReader reader(path);
  check_noted_model(reader.metadata(), path.string(), model);
  const tensor::Layout& layout = arena.layout();
  for (const TensorEntry& entry : reader.entries()) {
    // The moments in a state file are named after their parameter.
    const bool moment =
        entry.name.starts_with("first_moment.") || entry.name.starts_with("second_moment.");
    if (entry.name.starts_with("worker-")) {
      fail(ErrorKind::kData,
           "{}: this state holds the weights of several workers, expected one model: use the "
           "weight file next to it, which holds the average, or one of a node-NNN directory",
           path.string());
    }
    if (!moment && layout.find(entry.name) == nullptr) {
      fail(ErrorKind::kData, "{}: tensor {} is not one of this model", path.string(), entry.name);
    }
  }
  for (size_t i = 0; i < layout.slots().size(); ++i) {
    const tensor::Slot& slot = layout.slots()[i];
    const std::vector<T> host = read_tensor<T>(reader, slot.name, slot);
    check_finite(ErrorKind::kData, path.string(), slot.name, host);
    for (int64_t n = 0; n < arena.workers(); ++n) {
      backend::copy_from_host<T>(arena.context(), host.data(), 0,
                                 arena.view(static_cast<int>(i)).worker_range(n, 1));
    }
  }
}

#define SADDLE_INSTANTIATE(T)                                       \
  template decltype(write_arena<float, T>) write_arena<float, T>;   \
  template decltype(write_arena<double, T>) write_arena<double, T>; \
  template decltype(read_arena<T>) read_arena<T>;                   \
  template decltype(save_weights<T>) save_weights<T>;               \
  template decltype(load_weights<T>) load_weights<T>;
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::model
