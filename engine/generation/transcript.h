// Everything that a request's events say, for tests to compare.
//
//   Transcript transcript;
//   transcript.Read(*queue);
//   EXPECT_EQ(transcript.choices[0].text, "...");
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/base/status.h"
#include "engine/generation/event_queue.h"

namespace inferd::engine {

struct Transcript {
  struct Choice {
    std::vector<int32_t> tokens;
    std::string text;
    std::vector<float> logprobs;  // of each token, then of its alternatives
    std::optional<int32_t> first_prompt_token;
    std::vector<float> prompt_logprobs;
    std::optional<FinishReason> finish;
    std::string stop_text, error;
    uint32_t completion_tokens = 0, dropped_tokens = 0;

    bool operator==(const Choice&) const = default;
  };

  std::map<uint32_t, Choice> choices;
  std::optional<Accepted> accepted;
  uint32_t cached_prompt_tokens = 0;
  std::optional<absl::Status> end;

  void Read(EventQueue& queue) {
    while (std::optional<Event> event = queue.Pop()) Add(*event);
    end = queue.End();
  }

 private:
  static void AddLogprobs(const std::vector<sampling::TokenLogprob>& entries, std::vector<float>& out) {
    for (const auto& entry : entries) {
      out.push_back(entry.logprob);
      for (const auto& alternative : entry.top) out.push_back(alternative.logprob);
    }
  }

  void Add(const Event& event) {
    if (const auto* value = std::get_if<Accepted>(&event)) accepted = *value;
    if (const auto* delta = std::get_if<Delta>(&event)) {
      Choice& choice = choices[delta->choice];
      choice.tokens.insert(choice.tokens.end(), delta->tokens.begin(), delta->tokens.end());
      for (const auto& part : delta->parts) choice.text += part.text;
      AddLogprobs(delta->logprobs, choice.logprobs);
      if (delta->first_prompt_token) choice.first_prompt_token = delta->first_prompt_token;
      AddLogprobs(delta->prompt_logprobs, choice.prompt_logprobs);
    }
    if (const auto* finished = std::get_if<Finished>(&event)) {
      Choice& choice = choices[finished->choice];
      choice.finish = finished->reason;
      choice.stop_text = finished->stop_text;
      choice.error = MessageOf(finished->error);
      choice.completion_tokens = finished->usage.completion_tokens;
      choice.dropped_tokens = finished->usage.dropped_tokens;
      cached_prompt_tokens += finished->usage.cached_prompt_tokens;
    }
  }
};

}  // namespace inferd::engine
