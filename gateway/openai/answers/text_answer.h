// The answer of POST /v1/completions: text_completion, whole or as a stream.
//
//   TextAnswer answer(options, {.with_logprobs = true, .echo = {"Once upon"}});
#pragma once

#include <string>
#include <vector>

#include "gateway/openai/answers/choices_answer.h"
#include "gateway/openai/answers/logprobs.h"

namespace inferd::gateway {

class TextAnswer : public ChoicesAnswer {
 public:
  struct Extras {
    bool with_logprobs = false;
    // Text that begins each prompt's choices, one entry a prompt; empty: no echo.
    std::vector<std::string> echo;
  };
  TextAnswer(AnswerOptions options, Extras extras);

  std::span<const FieldName> FieldNames() const override;

 protected:
  void OnStart(uint32_t choice, std::string* sse) override;
  void OnDelta(uint32_t choice, const v1::Delta& delta, std::string* sse) override;
  void OnFinished(uint32_t choice, const v1::Finished& finished, std::string* sse) override;
  boost::json::object ChoiceJson(uint32_t choice) override;
  std::string_view ObjectName(bool chunk) const override;

 private:
  struct Choice {
    std::string text;
    // The prompt's may come after those of the first tokens of another choice.
    TextLogprobs prompt_logprobs;
    TextLogprobs logprobs;
    // Of the next generated token, in characters.
    size_t offset = 0;
    boost::json::array token_ids;
    std::string_view finish_reason;
  };

  struct Piece {
    std::string_view text;
    TextLogprobs logprobs;
    // Null: there are none to report.
    const v1::Delta* token_ids_of = nullptr;
    std::string_view finish_reason;
  };
  void AppendPiece(uint32_t choice, const Piece& piece, std::string& sse);
  void AddPrompt(uint32_t choice, const v1::Delta& delta, std::string* sse);
  // Empty: no echo.
  std::string_view EchoOf(uint32_t choice) const;

  const Extras extras_;
  std::vector<Choice> choices_;
  std::string scratch_;
};

}  // namespace inferd::gateway
