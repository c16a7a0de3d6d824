// Tiny models of many families, made of formulas alone (tests/golden/families): their files' bytes.
//
//   const boost::json::value golden = boost::json::parse(ReadFile(kFamilies / "bert.json"));
//   const std::string bytes = MakeFile(golden);
#pragma once

#include <boost/json.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/base/source_folder.h"
#include "engine/gguf/gguf_writer.h"

namespace inferd::forward {

inline const std::filesystem::path kFamilies = SourceFolder() / "tests/golden/families";

// The index-th draw of a stream that the tensor's name seeds (FNV-1a), in [-1, 1): splitmix64.
inline float Uniform(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<float>((z ^ (z >> 31)) >> 40) * 0x1p-23f - 1.0f;
}

inline std::string FillTensor(const std::string& name, const std::vector<uint64_t>& dims) {
  uint64_t seed = 0xCBF29CE484222325u, n = 1;
  for (const char byte : name) seed = (seed ^ static_cast<uint8_t>(byte)) * 0x100000001B3u;
  for (uint64_t dim : dims) n *= dim;
  const float root = 2.0f / std::sqrt(static_cast<float>(dims[0]));
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  std::vector<float> values(n);
  for (uint64_t i = 0; i < n; ++i) {
    const float u = Uniform(seed, i);
    values[i] = has(".ssm_a")                     ? -std::abs(u) - 0.125f
                : name.ends_with(".bias")         ? 0.25f * u
                : dims.size() == 1 || has("norm") ? 1.0f + 0.25f * u
                : name.starts_with("token_embd")  ? u
                                                  : u * root;
  }
  return {reinterpret_cast<const char*>(values.data()), n * sizeof(float)};
}

inline void AddKey(gguf::GgufWriter& writer, std::string_view key, const boost::json::value& value) {
  if (value.is_bool()) {
    writer.Add(key, value.get_bool());
  } else if (value.is_double()) {
    writer.Add(key, static_cast<float>(value.get_double()));
  } else if (value.is_array() && value.get_array().front().is_double()) {
    const auto values = boost::json::value_to<std::vector<float>>(value);
    writer.Add(key, std::span<const float>(values));
  } else if (value.is_array()) {
    const auto values = boost::json::value_to<std::vector<int32_t>>(value);
    writer.Add(key, std::span<const int32_t>(values));
  } else {
    writer.Add(key, value.to_number<uint32_t>());
  }
}

// A tensor's shape and data as they are about to be written; false: it is left out.
using ChangeTensor = std::function<bool(const std::string& name, std::vector<uint64_t>& dims, std::string& data)>;

inline std::string MakeFile(const boost::json::value& golden, const ChangeTensor& change = nullptr) {
  gguf::GgufWriter writer;
  const std::string architecture(golden.at("architecture").as_string());
  writer.Add("general.architecture", std::string_view(architecture));
  if (architecture.find("bert") != std::string::npos) writer.Add("tokenizer.ggml.token_type_count", uint32_t{2});
  for (const auto& [key, value] : golden.at("keys").as_object()) AddKey(writer, key, value);
  std::vector<std::string> data;
  for (const boost::json::value& tensor : golden.at("tensors").as_array()) {
    const std::string name(tensor.at(0).as_string());
    auto dims = boost::json::value_to<std::vector<uint64_t>>(tensor.at(1));
    std::string bytes = FillTensor(name, dims);
    if (change && !change(name, dims, bytes)) continue;
    writer.AddTensor(name, kernels::TensorType::kF32, dims);
    data.push_back(std::move(bytes));
  }
  return writer.ToBytes(data);
}

}  // namespace inferd::forward
