// Log-probabilities in OpenAI's two shapes.
//
//   object["logprobs"] = boost::json::object{{"content", std::move(chat_entries)}, {"refusal", nullptr}};
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <string_view>

#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

// {"token","bytes","logprob","top_logprobs":[...]}
boost::json::object ChatLogprob(const v1::TokenLogprob& logprob);

// Of UTF-8; a piece of a character counts with its first byte.
size_t CountCharacters(std::string_view text);

// Where the tokens of a prompt stand in the text that echoes it. Those that are not spelled there, such as the token of
// the beginning that the tokenizer adds, take no room.
class EchoPlaces {
 public:
  explicit EchoPlaces(std::string_view echo) : echo_(echo) {}
  // Of the next token, in characters; a byte that is part of none counts as one (U+FFFD).
  size_t Next(std::string_view token);

 private:
  std::string_view echo_;
  size_t bytes_ = 0;           // that tokens spelled
  size_t characters_ = 0;      // that these began
  size_t next_character_ = 0;  // where the one after them begins, in bytes
};

// The four parallel arrays of text completions.
class TextLogprobs {
 public:
  // `offset`: place of the token's text in the answer's text, in characters.
  void Add(const v1::TokenLogprob& logprob, size_t offset);
  void Append(const TextLogprobs& other);
  bool empty() const { return tokens_.empty(); }
  boost::json::object Json() const;

 private:
  boost::json::array tokens_;
  boost::json::array token_logprobs_;
  boost::json::array top_logprobs_;
  boost::json::array text_offset_;
};

}  // namespace inferd::gateway
