// The text of calls, as models write it, to names and JSON arguments.
//
//   std::optional<std::vector<Call>> calls = ReadCalls(CallBody::kJson, R"({"name": "f", "arguments": {}})", tools);
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/output/answer_format.h"

namespace inferd::output {

struct Call {
  std::string name;
  std::string arguments;  // JSON, an object unless the model wrote something else
};

// The tools of a request: their names, and which of their parameters are not strings.
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
  // The value of a parameter, written as plain text, as JSON of the type that the schema asks for.
  std::string ToJson(std::string_view tool, std::string_view parameter, std::string_view text) const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

// nullopt: the text is not a call in this form.
std::optional<std::vector<Call>> ReadCalls(const CallSyntax& syntax, std::string_view text, const ToolSchemas& tools);

}  // namespace inferd::output
