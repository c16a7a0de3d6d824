// POST /tokenize: {"model"?, "content", "add_special"?, "parse_special"?, "with_pieces"?} -> {"tokens": [...], "count"}
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>

#include "config/base/json_string.h"
#include "config/base/status.h"
#include "gateway/api/field_names.h"
#include "gateway/api/respond.h"
#include "gateway/json/fields.h"
#include "gateway/json/json_text.h"
#include "gateway/openai/endpoints.h"
#include "gateway/serving/parse_body.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

constexpr size_t kMaxTextBytes = size_t{1} << 31;

struct Parsed {
  v1::TokenizeRequest tokenize;
  const char* text_name = "content";  // as the client calls it
  std::string model;
  std::vector<std::string> warnings;
};

absl::StatusOr<Parsed> ParseTokenizeRequest(std::string_view body) {
  ASSIGN_OR_RETURN(json::object object, ParseJsonObject(body));
  Fields fields(std::move(object));
  Parsed parsed;
  ASSIGN_OR_RETURN(auto model, fields.String("model", 256));
  parsed.model = model.value_or("");
  ASSIGN_OR_RETURN(auto content, fields.String("content", kMaxTextBytes));
  ASSIGN_OR_RETURN(auto prompt, fields.String("prompt", kMaxTextBytes));
  if (!content && prompt) {
    content = std::move(prompt);
    parsed.text_name = "prompt";
  }
  if (!content) return InvalidArgument("content: is missing");
  parsed.tokenize.set_text(*content);
  ASSIGN_OR_RETURN(auto add_special, fields.Boolean("add_special"));
  parsed.tokenize.set_add_special(add_special.value_or(false));
  ASSIGN_OR_RETURN(auto parse_special, fields.Boolean("parse_special"));
  parsed.tokenize.set_parse_special(parse_special.value_or(true));
  ASSIGN_OR_RETURN(auto with_pieces, fields.Boolean("with_pieces"));
  parsed.tokenize.set_with_pieces(with_pieces.value_or(false));
  parsed.warnings = fields.Warnings();
  return parsed;
}

// A string, or the bytes where the token is only part of a character.
json::value PieceJson(const std::string& piece) {
  std::string_view rest = piece;
  while (size_t length = Utf8CharacterLength(rest)) rest.remove_prefix(length);
  if (rest.empty()) return json::value(piece);
  json::array bytes;
  for (char c : piece) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

}  // namespace

Task<void> ServeTokenize(const Serving& serving, Exchange& exchange) {
  absl::StatusOr<Parsed> parsed = co_await ParseBody(serving, exchange.request.body, ParseTokenizeRequest);
  if (!parsed.ok()) co_return co_await RespondError(exchange, parsed.status());
  absl::StatusOr<std::string> model = ResolveModel(serving, exchange, parsed->model);
  if (!model.ok()) co_return co_await RespondError(exchange, model.status());
  parsed->tokenize.set_model(*model);
  auto start = [&](WorkerConnection& worker, const std::shared_ptr<grpc::ClientContext>& context,
                   v1::TokenizeResponse* response, std::function<void(grpc::Status)> done) {
    worker.inference->async()->Tokenize(context.get(), &parsed->tokenize, response, std::move(done));
  };
  absl::StatusOr<v1::TokenizeResponse> answer = co_await CallModel<v1::TokenizeResponse>(
      serving.upstream, MakeModelCall(exchange, *model, parsed->tokenize), exchange.executor(), start);
  if (!answer.ok()) {
    const FieldName names[] = {{"text", parsed->text_name}};
    co_return co_await RespondError(exchange, WithFieldNames(answer.status(), names));
  }

  bool with_pieces = parsed->tokenize.with_pieces() && answer->pieces_size() == answer->ids_size();
  json::array tokens;
  for (int i = 0; i < answer->ids_size(); ++i) {
    json::value id = answer->ids(i);
    if (with_pieces) id = json::object{{"id", answer->ids(i)}, {"piece", PieceJson(answer->pieces(i))}};
    tokens.push_back(std::move(id));
  }
  json::object body;
  body["count"] = tokens.size();
  body["tokens"] = std::move(tokens);
  if (!parsed->warnings.empty()) body["warnings"] = json::value_from(parsed->warnings);
  Response response;
  response.body = json::serialize(body);
  co_await exchange.Respond(std::move(response));
}

}  // namespace inferd::gateway
