// The targets, each with the reader that it tries and what must hold of what is read.
#pragma once

#include <string_view>

#include "fuzz/harness.h"

namespace saddle::fuzz {

// Text on its own.
void json(std::string_view bytes, Scratch& scratch);  // parse_json
void settings(std::string_view bytes,
              Scratch& scratch);                     // a YAML file, then the rules between them
void set(std::string_view bytes, Scratch& scratch);  // --set, one a line

// Weights.
void safetensors(std::string_view bytes, Scratch& scratch);   // a file, with the notes in it
void weight_index(std::string_view bytes, Scratch& scratch);  // model.safetensors.index.json
void state_note(std::string_view bytes, Scratch& scratch);    // the notes of weights and of states
void hugging_face(std::string_view bytes, Scratch& scratch);  // config.json

// Data.
void manifest(std::string_view bytes, Scratch& scratch);   // of a token cache, with its shards
void documents(std::string_view bytes, Scratch& scratch);  // JSON lines, plain or gzip
void tokenizer(std::string_view bytes, Scratch& scratch);  // a SentencePiece model
void http(std::string_view bytes, Scratch& scratch);       // an answer of a server

// What runs, analyses and Slurm leave.
void run(std::string_view bytes, Scratch& scratch);         // the files of a run
void analysis(std::string_view bytes, Scratch& scratch);    // the files of a directory of results
void slurm(std::string_view bytes, Scratch& scratch);       // sbatch, squeue, sacct, sinfo
void site(std::string_view bytes, Scratch& scratch);        // slurm.yaml
void submission(std::string_view bytes, Scratch& scratch);  // submission.json

}  // namespace saddle::fuzz
