#include "gateway/gateway_app.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "config/base/status.h"
#include "gateway/anthropic/endpoints.h"
#include "gateway/anthropic/form.h"
#include "gateway/api/respond.h"
#include "gateway/auth/access.h"
#include "gateway/json/valid_text.h"
#include "gateway/metrics/metrics_page.h"
#include "gateway/openai/endpoints.h"
#include "gateway/openai/form.h"
#include "gateway/routing/routes.h"

namespace inferd::gateway {

struct GatewayApp::Endpoint {
  // Ends with / where anything may follow.
  std::string_view path;
  std::string_view method;
  // Null: /metrics.
  Task<void> (*serve)(const Serving&, Exchange&);
  bool needs_key = true;
  // Asked by those who watch: answered also while the daemon ends.
  bool watches = false;
  // Of the API that it is part of.
  const ApiForm& (*form)() = OpenAiForm;
};

const std::vector<GatewayApp::Endpoint>& GatewayApp::Endpoints() {
  static const std::vector<Endpoint> endpoints = {
      {"/v1/chat/completions", "POST", ServeChatCompletions},
      {"/v1/completions", "POST", ServeCompletions},
      {"/v1/embeddings", "POST", ServeEmbeddings},
      {"/v1/rerank", "POST", ServeRerank},
      {"/v2/rerank", "POST", ServeRerank},  // as clients of Cohere's second version ask
      {"/rerank", "POST", ServeRerank},
      {"/reranking", "POST", ServeRerank},  // this and the next ones as clients of llama-server ask
      {"/v1/reranking", "POST", ServeRerank},
      {"/chat/completions", "POST", ServeChatCompletions},
      {"/models", "GET", ServeModels},
      {"/v1/models", "GET", ServeModels},
      {"/v1/models/", "GET", ServeModel},
      {"/v1/messages", "POST", ServeMessages, true, false, AnthropicForm},
      {"/v1/messages/count_tokens", "POST", ServeCountTokens, true, false, AnthropicForm},
      {"/v1/models", "GET", ServeAnthropicModels, true, false, AnthropicForm},
      {"/v1/models/", "GET", ServeAnthropicModel, true, false, AnthropicForm},
      {"/tokenize", "POST", ServeTokenize},
      {"/detokenize", "POST", ServeDetokenize},
      {"/apply-template", "POST", ServeApplyTemplate},
      {"/health", "GET", ServeHealth, false, true},
      {"/v1/health", "GET", ServeHealth, false, true},
      {"/ping", "GET", ServeHealth, false, true},  // this and the next one as those who watch vLLM ask
      {"/version", "GET", ServeVersion, false, true},
      {"/ready", "GET", ServeReady, false, true},
      {"/metrics", "GET", nullptr, true, true},
  };
  return endpoints;
}

namespace {

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return absl::ascii_tolower(a) == b; });
}

// "application/json", with or without parameters. Bodies are JSON under any name, as clients often send them under that
// of a form; only a browser has to say it, since it asks us first whether a page of another origin may.
bool IsJson(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  return EqualsIgnoringCase(type, "application/json");
}

constexpr std::chrono::seconds kFirstRoutesWait{10};

Response RefuseFor(const absl::Status& status, Exchange& exchange) {
  return ErrorResponse(*exchange.form, NoteError(status, exchange), exchange.request_id);
}

constexpr std::string_view kMessages = "/v1/messages";

// Of a path that several APIs have, or none: clients of Anthropic's name its version.
const ApiForm& FormOf(const Request& request) {
  const std::string_view path = request.path;
  const bool messages =
      path.starts_with(kMessages) && (path.size() == kMessages.size() || path[kMessages.size()] == '/');
  return messages || !request.Header("anthropic-version").empty() ? AnthropicForm() : OpenAiForm();
}

// Why a path that clients ask for is not there.
std::string_view MissingPath(std::string_view path) {
  return path.starts_with("/v1/messages/batches")
             ? "message batches are not supported, send each message to /v1/messages"
             : "no such path";
}

std::string AllowOf(std::string_view method) { return method == "GET" ? "GET, HEAD, OPTIONS" : "POST, OPTIONS"; }

}  // namespace

GatewayApp::GatewayApp(Serving serving, Access& access, MetricsPage& metrics_page)
    : serving_(serving), access_(access), metrics_page_(metrics_page) {}

const GatewayApp::Endpoint* GatewayApp::Find(const Request& request) {
  const std::string_view path = request.path;
  const Endpoint* found = nullptr;
  for (const Endpoint& endpoint : Endpoints()) {
    const bool fits = endpoint.path.back() == '/'
                          ? path.size() > endpoint.path.size() && path.starts_with(endpoint.path)
                          : path == endpoint.path;
    if (fits && (found == nullptr || &endpoint.form() == &FormOf(request))) found = &endpoint;
  }
  return found;
}

std::optional<Response> GatewayApp::Refuse(Exchange& exchange) {
  const Request& request = exchange.request;
  const Endpoint* endpoint = Find(request);
  exchange.form = endpoint == nullptr ? &FormOf(request) : &endpoint->form();
  if (endpoint == nullptr && !(request.path == "*" && request.method == "OPTIONS")) {
    return MakeError(404, MissingPath(request.path), exchange);
  }
  exchange.record.endpoint = endpoint == nullptr ? "*" : endpoint->path;
  if (request.method == "OPTIONS") {
    Response response;
    response.status = 204;
    response.headers.emplace_back("Allow",
                                  endpoint == nullptr ? "GET, HEAD, POST, OPTIONS" : AllowOf(endpoint->method));
    return response;
  }
  if (request.method != endpoint->method && !(request.method == "HEAD" && endpoint->method == "GET")) {
    Response response = MakeError(405, "the method must be " + std::string(endpoint->method), exchange);
    response.headers.emplace_back("Allow", AllowOf(endpoint->method));
    return response;
  }
  if (absl::Status serving = CheckServing(serving_); !serving.ok() && !endpoint->watches) {
    exchange.ForbidKeepAlive();
    return RefuseFor(serving, exchange);
  }
  if (endpoint->needs_key) {
    if (absl::Status admitted = access_.Admit(exchange); !admitted.ok()) return RefuseFor(admitted, exchange);
  } else {
    access_.Recognize(exchange);
  }
  if (std::string_view encoding = request.Header("content-encoding");
      endpoint->method == "POST" && !encoding.empty() && !EqualsIgnoringCase(encoding, "identity")) {
    return MakeError(415,
                     "the content encoding '" + ValidText(encoding, 32) + "' is not supported, send the body as it is",
                     exchange);
  }
  if (endpoint->method == "POST" && !IsJson(request.Header("content-type")) && !request.Header("origin").empty()) {
    return MakeError(415, "the content type must be application/json where a browser asks for a page of another origin",
                     exchange);
  }
  return std::nullopt;
}

// A gateway that has just (re)started knows no model for a moment: requests for one wait instead of failing.
Task<void> GatewayApp::WaitForRoutes(Exchange& exchange) {
  Routes& routes = serving_.upstream.routes;
  std::shared_ptr<const RouteTable> table = routes.Current();
  if (!routes.known()) {
    co_await routes.WaitForUpdate(table, exchange.executor(), std::chrono::steady_clock::now() + kFirstRoutesWait);
  }
}

Task<void> GatewayApp::Handle(Exchange& exchange) {
  const Endpoint* endpoint = Find(exchange.request);
  if (endpoint->path.starts_with("/v1/") || endpoint->method == "POST") co_await WaitForRoutes(exchange);
  if (endpoint->serve == nullptr) {
    co_await ServeMetrics(exchange);
  } else {
    co_await endpoint->serve(serving_, exchange);
  }
}

Task<void> GatewayApp::ServeMetrics(Exchange& exchange) {
  Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = co_await metrics_page_.Render(exchange.executor(), exchange.key.get());
  co_await exchange.Respond(std::move(response));
}

Response GatewayApp::MakeError(int status, std::string_view message, Exchange& exchange) {
  // Of a head that is no request's, nobody knows the API.
  if (exchange.form == nullptr) exchange.form = &OpenAiForm();
  ApiError error = HttpError(status, message);
  if (status == 500) error.message += " (request " + exchange.request_id + ")";
  exchange.record.error_code = error.code.empty() ? "invalid_request" : error.code;
  return ErrorResponse(*exchange.form, error, exchange.request_id);
}

void GatewayApp::Finished(const Exchange& exchange) {
  FinishRequest(exchange, exchange.request.method, serving_.metrics);
}

}  // namespace inferd::gateway
