// LIBSVM text, read as it streams by.
//
//   label index:value index:value ...   # comment
//
// What it is: a push parser. Bytes go in by `feed`, cut anywhere; whole rows come out as CSR
// vectors by `take`. Where the bytes come from (file, pipe, decompressor) is the caller's business.
// Contract: how the bytes were cut into feeds never shows in rows, messages or line numbers.
// Indices are 1-based in the text, 0-based, sorted and distinct in the rows. Numbers are read by
// std::from_chars: correctly rounded to Real, whatever the locale. A value too small for Real reads
// as 0; one too large or an infinity makes the line bad, as does anything else that is not the line
// above. A value NaN is a missing value with `gaps`, and makes the line bad without. Blank lines,
// CRLF and a UTF-8 byte order mark are fine. Bad lines: the first one stops the parser (rows before
// it can still be taken), or, with `skip_bad`, they are counted and the first few kept to be shown.
// Cost: one pass, about 2 ns a byte; memory is that of the rows not yet taken plus one unfinished
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
  // The largest feature index a line may name (1-based).
  std::int64_t max_index = std::numeric_limits<std::int32_t>::max();
  // A longer line is bad: without a bound a file that is not text would be held whole.
  std::size_t max_line = std::size_t{64} << 20;
  // How many bad lines keep their message.
  std::size_t keep = 5;
  // Where a text that is read on from its middle stands: lines before it, and their largest index.
  std::uint64_t line = 0;
  std::int64_t largest = 0;
  bool gaps = false;  // values may be missing: NaN
};

struct BadLine {
  std::uint64_t line;  // from 1
  std::string what;
};

// Row i: columns indices[indptr[i] .. indptr[i+1]), the same range of values, and labels[i].
// `passed`: where bad lines were passed over, pairs of the rows before them and how many they are.
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

  // Parses until the bytes end, `max_rows` rows wait to be taken, or the parser stops at a bad
  // line. Returns how many bytes were used up; an unfinished last line is used up and kept.
  std::size_t feed(std::string_view bytes,
                   std::size_t max_rows = std::numeric_limits<std::size_t>::max());
  // No more bytes: an unfinished last line is a line.
  void finish();

  // Hands out the waiting rows and starts afresh.
  CsrRows<Real> take();
  // Forgets the waiting rows but not their memory, for a pass that only counts.
  void discard();

  std::size_t rows() const { return rows_.labels.size(); }
  std::uint64_t lines() const { return lines_; }       // finished lines, good or not
  std::uint64_t bytes() const { return bytes_; }       // used up so far
  std::uint64_t resume() const { return resume_; }     // bytes up to the end of the last line
  std::int64_t max_index() const { return largest_; }  // largest index of a good row; 0: none yet
  std::uint64_t n_bad() const { return n_bad_; }
  const std::vector<BadLine>& bad() const { return bad_; }
  // Stopped for good at bad().front().
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
  bool overlong_ = false;  // inside a line already rejected for its length
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
