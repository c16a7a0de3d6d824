// The small models of many families whose right outputs are among the oracles.
#pragma once

#include <boost/json.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include "config/base/testing_paths.h"

namespace inferd::forward {

inline const std::string kOracles = (OraclesPath() / "archs/").string();

struct OracleCase {
  std::string name;
  std::vector<int32_t> tokens;
  bool logits;
  int64_t row_elements;
};
inline void PrintTo(const OracleCase& c, std::ostream* out) { *out << c.name; }

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<OracleCase> OracleCases() {
  std::vector<OracleCase> cases;
  if (!std::filesystem::exists(kOracles + "index.json")) return cases;
  const boost::json::value index = boost::json::parse(ReadFile(kOracles + "index.json"));
  for (const boost::json::value& entry : index.as_array()) {
    OracleCase c;
    c.name = entry.at("name").as_string().c_str();
    for (const boost::json::value& token : entry.at("tokens").as_array())
      c.tokens.push_back(token.to_number<int32_t>());
    c.logits = entry.at("output").as_string() == "logits";
    c.row_elements = entry.at("shape").as_array().at(1).to_number<int64_t>();
    cases.push_back(c);
  }
  return cases;
}

inline std::vector<float> Expected(const OracleCase& c) {
  const std::string bytes = ReadFile(kOracles + c.name + (c.logits ? ".logits.f32" : ".embd.f32"));
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// The largest difference over the standard deviation of the expected values.
inline double RelativeError(const std::vector<float>& got, const std::vector<float>& expected) {
  double sum = 0, squares = 0, largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    sum += expected[i];
    squares += static_cast<double>(expected[i]) * expected[i];
    const double difference = std::abs(static_cast<double>(got[i]) - expected[i]);
    if (!(difference <= largest)) largest = difference;
  }
  const double n = static_cast<double>(expected.size()), mean = sum / n;
  return largest / std::sqrt(squares / n - mean * mean);
}

inline std::string ModelPath(const OracleCase& c) { return (OracleModelsPath() / (c.name + ".gguf")).string(); }

inline std::string NameOf(const OracleCase& c) {
  std::string name = c.name;
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
}

}  // namespace inferd::forward
