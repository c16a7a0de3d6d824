#include "engine/model_variables.h"

#include <boost/json.hpp>

namespace inferd::engine {

boost::json::object ModelVariables(const tokenizer::Tokenizer& tokenizer) {
  boost::json::object variables;
  const auto set = [&](const char* name, std::optional<int32_t> id) {
    const std::string_view spelling = id ? tokenizer.spelling(*id) : "";
    variables[name] = boost::json::string_view(spelling.data(), spelling.size());
  };
  set("bos_token", tokenizer.bos());
  set("eos_token", tokenizer.eos());
  return variables;
}

}  // namespace inferd::engine
