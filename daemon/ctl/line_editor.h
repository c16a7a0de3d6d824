// Reads lines that a person types, with editing and history on a terminal, plainly from anything else.
//
//   LineEditor editor("> ", history_file, interrupts);
//   while (std::optional<std::string> line = editor.Read()) ...
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace inferd::daemon {

class LineEditor {
 public:
  // `interrupts`: a signalfd for SIGINT, which gives up the line that is being typed. History is kept in
  // `history_file`, unless it is empty or input is no terminal.
  LineEditor(std::string prompt, std::string history_file, int interrupts);
  ~LineEditor();

  // Without its newline; nullopt at the end of input.
  std::optional<std::string> Read();
  bool interactive() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferd::daemon
