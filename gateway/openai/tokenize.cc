// POST /tokenize: {"model"?, "content", "add_special"?, "parse_special"?, "with_pieces"?} -> {"tokens": [...], "count"}
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>

#include "config/base/json_string.h"
#include "gateway/api/field_names.h"
#include "gateway/api/respond.h"
#include "gateway/openai/endpoints.h"
#include "gateway/openai/requests/tokenize_request.h"
#include "gateway/serving/parse_body.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

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
  absl::StatusOr<TokenizeFields> parsed = co_await ParseBody(serving, exchange.request.body, ParseTokenizeRequest);
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
