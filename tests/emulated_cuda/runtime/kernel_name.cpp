#include "runtime/kernel_name.h"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

namespace emulated {
namespace {

uintptr_t load_address() {
  uintptr_t address = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        *static_cast<uintptr_t*>(result) = info->dlpi_addr;
        return 1;  // the first one is the program
      },
      &address);
  return address;
}

template <class T>
std::vector<T> read(std::ifstream& file, uint64_t offset, uint64_t count) {
  std::vector<T> values(count);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(count * sizeof(T)));
  if (!file) values.clear();
  return values;
}

// The symbol at `address`, which dladdr() finds only if it is exported.
std::string symbol_at(uintptr_t address) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const auto header = read<Elf64_Ehdr>(file, 0, 1);
  if (header.empty()) return {};
  const auto sections = read<Elf64_Shdr>(file, header[0].e_shoff, header[0].e_shnum);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& text = sections[section.sh_link];
    auto names = read<char>(file, text.sh_offset, text.sh_size);
    names.push_back('\0');
    for (const Elf64_Sym& symbol :
         read<Elf64_Sym>(file, section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_value == address &&
          symbol.st_name < names.size()) {
        return names.data() + symbol.st_name;
      }
    }
  }
  return {};
}

}  // namespace

std::string kernel_name(const void* kernel) {
  const auto address = reinterpret_cast<uintptr_t>(kernel);
  const std::string symbol = symbol_at(address - load_address());
  if (symbol.empty()) return fmt::format("{}", kernel);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return readable ? readable.get() : symbol;
}

}  // namespace emulated
