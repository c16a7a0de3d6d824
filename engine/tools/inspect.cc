// inferd-model inspect FILE: metadata and tensors, as text or JSON.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "config/base/print.h"
#include "config/base/status.h"
#include "engine/gguf/gguf_file.h"
#include "engine/gguf/parse.h"
#include "engine/tools/verbs.h"

namespace inferd::tools {
namespace {

namespace json = boost::json;
using gguf::Array;
using gguf::Entry;
using gguf::GgufFile;
using gguf::Tensor;
using gguf::ValueType;

constexpr size_t kShownElements = 8;      // of an array, in text
constexpr size_t kShownCharacters = 120;  // of a string, in text

struct Options {
  std::string path;
  bool as_json = false;
};

// JSON text must be UTF-8; other bytes of the file are shown as \xNN.
json::value JsonText(std::string_view text) {
  boost::system::error_code error;
  json::value checked = json::parse(json::serialize(json::string(text)), error);
  return error ? json::value(gguf::Printable(text)) : checked;
}

// A number that JSON can write: not infinite or NaN, and a float32 by the fewest digits that give it back.
json::value JsonNumber(double value, bool single) {
  if (!std::isfinite(value)) return nullptr;
  if (!single) return value;
  return std::strtod(fmt::format("{}", static_cast<float>(value)).c_str(), nullptr);
}

template <typename T>
json::value JsonElement(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  if constexpr (std::is_floating_point_v<T>) return JsonNumber(value, sizeof value == 4);
  return value;
}

json::value ElementOf(const Array& array, uint64_t i) {
  if (array.element_type == ValueType::kString) return JsonText(array.strings[i]);
  const uint8_t* bytes = array.bytes + i * gguf::ValueTypeBytes(array.element_type);
  switch (array.element_type) {
    case ValueType::kUint8:
      return JsonElement<uint8_t>(bytes);
    case ValueType::kInt8:
      return JsonElement<int8_t>(bytes);
    case ValueType::kUint16:
      return JsonElement<uint16_t>(bytes);
    case ValueType::kInt16:
      return JsonElement<int16_t>(bytes);
    case ValueType::kUint32:
      return JsonElement<uint32_t>(bytes);
    case ValueType::kInt32:
      return JsonElement<int32_t>(bytes);
    case ValueType::kUint64:
      return JsonElement<uint64_t>(bytes);
    case ValueType::kInt64:
      return JsonElement<int64_t>(bytes);
    case ValueType::kFloat32:
      return JsonElement<float>(bytes);
    case ValueType::kFloat64:
      return JsonElement<double>(bytes);
    default:
      return bytes[0] != 0;
  }
}

struct ToJson {
  ValueType type;

  json::value operator()(uint64_t value) const { return value; }
  json::value operator()(int64_t value) const { return value; }
  json::value operator()(double value) const { return JsonNumber(value, type == ValueType::kFloat32); }
  json::value operator()(bool value) const { return value; }
  json::value operator()(std::string_view value) const { return JsonText(value); }
  json::value operator()(const Array& array) const {
    json::array out;
    for (uint64_t i = 0; i < array.size; ++i) out.push_back(ElementOf(array, i));
    return out;
  }
};

json::object TensorJson(const Tensor& tensor) {
  json::array dims(tensor.dims.begin(), tensor.dims.begin() + tensor.n_dims);
  return {{"name", JsonText(tensor.name)},
          {"type", kernels::TraitsOf(tensor.type).name},
          {"shape", std::move(dims)},
          {"bytes", tensor.bytes}};
}

void PrintJson(const GgufFile& file) {
  json::object metadata;
  for (const Entry& entry : file.entries()) {
    metadata[JsonText(entry.key).get_string()] = std::visit(ToJson{entry.type}, entry.value);
  }
  json::array tensors;
  for (const Tensor& tensor : file.tensors()) tensors.push_back(TensorJson(tensor));
  const json::object out = {
      {"path", inferd::Printable(file.path())}, {"version", file.version()},     {"parts", file.parts()},
      {"size_bytes", file.size_bytes()},        {"alignment", file.alignment()}, {"metadata", std::move(metadata)},
      {"tensors", std::move(tensors)}};
  Print("{}\n", json::serialize(out));
}

std::string ShortText(std::string_view text) {
  std::string out = json::serialize(JsonText(text.substr(0, kShownCharacters)));
  if (text.size() > kShownCharacters) out += fmt::format("... ({} bytes)", text.size());
  return out;
}

std::string ShortValue(const Entry& entry) {
  if (const auto* text = std::get_if<std::string_view>(&entry.value)) return ShortText(*text);
  const auto* array = std::get_if<Array>(&entry.value);
  if (const auto* number = std::get_if<double>(&entry.value)) {
    return entry.type == ValueType::kFloat32 ? fmt::format("{}", static_cast<float>(*number))
                                             : fmt::format("{}", *number);
  }
  if (array == nullptr) return json::serialize(std::visit(ToJson{entry.type}, entry.value));
  std::string out = "[";
  for (uint64_t i = 0; i < array->size && i < kShownElements; ++i) {
    if (i > 0) out += ", ";
    out += json::serialize(ElementOf(*array, i));
  }
  return out + (array->size > kShownElements ? fmt::format(", ...] ({})", array->size) : "]");
}

std::string TypeText(const Entry& entry) {
  const auto* array = std::get_if<Array>(&entry.value);
  return array ? fmt::format("{}[]", gguf::ValueTypeName(array->element_type))
               : std::string(gguf::ValueTypeName(entry.type));
}

void PrintText(const GgufFile& file) {
  Print("{}: GGUF version {}, {} part(s), {} bytes, alignment {}\n", file.path(), file.version(), file.parts(),
        file.size_bytes(), file.alignment());
  Print("\n{} metadata entries\n", file.entries().size());
  for (const Entry& entry : file.entries()) {
    Print("  {:<44} {:<10} {}\n", gguf::Printable(entry.key), TypeText(entry), Printable(ShortValue(entry)));
  }
  uint64_t parameters = 0;
  Print("\n{} tensors\n", file.tensors().size());
  for (const Tensor& tensor : file.tensors()) {
    parameters += tensor.elements();
    Print("  {:<44} {:<8} {:>24} {:>14} bytes\n", gguf::Printable(tensor.name), kernels::TraitsOf(tensor.type).name,
          fmt::format("[{}]", fmt::join(tensor.dims.begin(), tensor.dims.begin() + tensor.n_dims, ", ")), tensor.bytes);
  }
  Print("\n{} parameters\n", parameters);
}

absl::Status Inspect(const Options& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const GgufFile> file, GgufFile::Open(options.path));
  options.as_json ? PrintJson(*file) : PrintText(*file);
  return absl::OkStatus();
}

}  // namespace

void AddInspect(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = program.add_subcommand("inspect", "Shows a file's metadata and tensors.");
  verb->add_option("FILE", options->path, "model file (GGUF)")->required();
  verb->add_flag("--json", options->as_json, "print JSON, with all elements of arrays");
  verb->callback([options, &action] { action = [options] { return Inspect(*options); }; });
}

}  // namespace inferd::tools
