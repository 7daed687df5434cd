// A streaming parser of LIBSVM text.
//
//   label index:value index:value ...   # comment
//
// It is a push parser. `feed` takes bytes, cut anywhere; `take` returns whole rows as CSR vectors.
// The caller gets the bytes from a file, pipe or decompressor.
//
// Contract: where the bytes were cut never shows in rows, messages or line numbers. Indices are
// 1-based in the text; 0-based, sorted and distinct in the rows. std::from_chars reads the numbers:
// correctly rounded to Real, whatever the locale is. A value too small for Real becomes 0. A line
// is bad if a value is too large or infinite, or if the line differs from the form above in any
// other way. With `gaps` a value NaN is a missing value; without it the line is bad. Blank lines,
// CRLF and a UTF-8 byte order mark are allowed. The first bad line stops the parser (rows before it
// can still be taken); with `skip_bad` bad lines are counted and the first few are kept to be
// shown.
//
// Cost: one pass, about 2 ns per byte; memory for the rows not yet taken and for one unfinished
// line of at most `max_line` bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace budgetron {

struct LibsvmOptions {
  bool skip_bad = false;
  // The largest feature index that a line may have (1-based).
  std::int64_t max_index = std::numeric_limits<std::int32_t>::max();
  // A longer line is bad: without a limit a file that is not text would be held in memory whole.
  std::size_t max_line = std::size_t{64} << 20;
  // The number of bad lines whose message is kept.
  std::size_t keep = 5;
  // The start of a text that is read from its middle: lines before it, and their largest index.
  std::uint64_t line = 0;
  std::int64_t largest = 0;
  bool gaps = false;  // values may be missing (NaN)
};

struct BadLine {
  std::uint64_t line;  // counted from 1
  std::string what;
};

// Row i has the columns indices[indptr[i] .. indptr[i+1]), the same range of values, and labels[i].
// `passed` says where bad lines were skipped: pairs of (rows before them, number of bad lines).
// Invariant: indptr.size() == labels.size() + 1, indptr.back() == indices.size() == values.size().
template <class Real>
struct CsrRows {
  std::vector<double> labels;
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> indices;
  std::vector<Real> values;
  std::vector<std::int64_t> passed;
};

template <class Real>
class LibsvmParser {
 public:
  explicit LibsvmParser(LibsvmOptions options = {})
      : options_(options), lines_(options.line), largest_(options.largest) {}

  // Parses until the bytes end, `max_rows` rows are ready, or a bad line stops the parser. Returns
  // the number of bytes consumed; an unfinished last line is consumed and kept.
  std::size_t feed(std::string_view bytes,
                   std::size_t max_rows = std::numeric_limits<std::size_t>::max());
  // Call after the last byte: an unfinished last line then counts as a line.
  void finish();

  // Returns the rows that are ready, and starts with none.
  CsrRows<Real> take();
  // Drops the rows that are ready but keeps their memory, for a pass that only counts.
  void discard();

  std::size_t rows() const { return rows_.labels.size(); }
  std::uint64_t lines() const { return lines_; }    // finished lines, good or not
  std::uint64_t bytes() const { return bytes_; }    // consumed so far
  std::uint64_t resume() const { return resume_; }  // bytes up to the end of the last complete line
  std::int64_t max_index() const { return largest_; }  // largest index of a good row; 0: no row yet
  std::uint64_t n_bad() const { return n_bad_; }
  const std::vector<BadLine>& bad() const { return bad_; }
  // Whether the parser stopped for good at bad().front().
  bool failed() const { return n_bad_ > 0 && !options_.skip_bad; }

 private:
  void hold(const char* begin, const char* end);
  void line(const char* begin, const char* end);
  bool row(const char* p, const char* end, std::string& what);
  bool sort_row(std::string& what);
  void reject(std::uint64_t line, std::string what);
  std::string line_too_long() const;

  LibsvmOptions options_;
  CsrRows<Real> rows_;
  std::string held_;       // the unfinished last line
  bool overlong_ = false;  // inside a line that was already rejected for its length
  std::vector<std::pair<std::int32_t, Real>> order_;
  std::uint64_t lines_;
  std::uint64_t bytes_ = 0;
  std::uint64_t resume_ = 0;
  std::int64_t largest_;
  std::uint64_t n_bad_ = 0;
  std::vector<BadLine> bad_;
};

extern template class LibsvmParser<float>;
extern template class LibsvmParser<double>;

}  // namespace budgetron
