// The answer of POST /v1/completions: text_completion, whole or as a stream.
//
//   TextAnswer answer(options, {.with_logprobs = true, .echo = {"Once upon"}});
#pragma once

#include <string>
#include <vector>

#include "gateway/openai/answer.h"
#include "gateway/openai/logprobs.h"

namespace inferd::gateway {

class TextAnswer : public Answer {
 public:
  struct Extras {
    bool with_logprobs = false;
    // Text that begins each prompt's choices, one entry a prompt; empty: no echo.
    std::vector<std::string> echo;
  };
  TextAnswer(AnswerOptions options, Extras extras);

 protected:
  void OnStart(uint32_t choice, std::string* sse) override;
  void OnDelta(uint32_t choice, const v1::Delta& delta, std::string* sse) override;
  void OnFinished(uint32_t choice, const v1::Finished& finished, std::string* sse) override;
  boost::json::object ChoiceJson(uint32_t choice) override;
  std::string_view ObjectName(bool chunk) const override;

 private:
  struct Choice {
    std::string text;
    TextLogprobs logprobs;
    // Of the next token, in characters.
    size_t offset = 0;
    boost::json::array token_ids;
    std::string_view finish_reason;
  };

  void AppendText(uint32_t choice, std::string_view text, const v1::Delta* delta, std::string_view finish_reason,
                  std::string& sse);
  void AddPromptLogprobs(uint32_t choice, const v1::Delta& delta, std::string* sse);

  const Extras extras_;
  std::vector<Choice> choices_;
  std::string scratch_;
};

}  // namespace inferd::gateway
