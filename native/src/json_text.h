// The little JSON that goes to JavaScript as text.
#pragma once
#include <string>

// Quoted and escaped; null counts as empty.
std::string json_string(const char* text);
