/* A model on a small device. The answer to a line of numbers, "21.5,0.3,,7", is a line with the class
   and its probability in per cent, "open 93"; an empty number is a missing value. The answer to a
   line that cannot be read is "error" and the reason.

   `budgetron export MODEL --to c --out model.h` writes model.h. The board passes each byte that its
   serial line receives: in an Arduino sketch,

     void loop() { while (Serial.available()) device_take((char)Serial.read(), say); }

   Memory: LINE bytes, and the amount given in model.h. */
#include "device.h"

#include <stdlib.h>

#include "model.h"

enum { LINE = 256 };

static char line[LINE];
static int length = 0;
static int too_long = 0;

/* Reads the numbers of the line; returns how many there are, or -1. */
static int parse(MODEL_INPUT *x) {
  const char *at = line;
  int count = 0;
  for (;;) {
    char *end;
    double value;
    while (*at == ' ') ++at;
    value = strtod(at, &end);
    if (end == at) value = NAN;
    at = end;
    while (*at == ' ') ++at;
    if (count < model_features) x[count] = (MODEL_INPUT)value;
    ++count;
    if (*at == 0) return count;
    if (*at != ',') return -1;
    ++at;
  }
}

static void say_number(int number, void (*say)(const char *)) {
  char digits[4];
  int at = 3;
  digits[3] = 0;
  do {
    digits[--at] = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0 && at > 0);
  say(digits + at);
}

static void answer(void (*say)(const char *)) {
  MODEL_INPUT x[model_features];
  MODEL_SUM f[model_outputs];
  double p[model_classes];
  int best;
  if (parse(x) != model_features) {
    say("error: not as many numbers as the model has features\n");
    return;
  }
  model_decide(x, f);
  model_probabilities(f, p);
  best = model_best(f);
  say(model_labels[best]);
  say(" ");
  say_number((int)(100.0 * p[best] + 0.5), say);
  say("\n");
}

void device_take(char byte, void (*say)(const char *text)) {
  if (byte == '\r') return;
  if (byte != '\n') {
    if (length < LINE - 1) {
      line[length++] = byte;
    } else {
      too_long = 1;
    }
    return;
  }
  line[length] = 0;
  if (too_long) {
    say("error: the line is too long\n");
  } else if (length > 0) {
    answer(say);
  }
  length = 0;
  too_long = 0;
}
