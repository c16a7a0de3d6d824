// What the tools of a request are called, and which values their parameters take.
//
//   ToolSchemas tools = ToolSchemas::Parse(tools_json);
//   std::string json = tools.ToJson("get_weather", "days", "3");   // the plain text "3" as a number
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/output/schema_types.h"

namespace inferd::output {

class ToolSchemas {
 public:
  // A JSON list in OpenAI's form; what is not is taken as no tools.
  static ToolSchemas Parse(std::string_view tools_json);
  ToolSchemas();
  ToolSchemas(const ToolSchemas&);
  ToolSchemas& operator=(const ToolSchemas&);
  ~ToolSchemas();

  bool empty() const;
  bool Has(std::string_view name) const;
  bool HasNameThatBegins(std::string_view beginning) const;
  // Of a parameter; strings alone where it is not known.
  JsonTypes TypesOf(std::string_view tool, std::string_view parameter) const;
  // The value of a parameter, written as plain text, as JSON of a type that the schema asks for.
  std::string ToJson(std::string_view tool, std::string_view parameter, std::string_view text,
                     bool says_json = false) const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

}  // namespace inferd::output
