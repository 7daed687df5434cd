/* The device on a computer: device.c behind a POSIX serial line such as /dev/ttyUSB0. A board has
   its own access to its serial line and does not need this file.

     cc -std=c99 -I. device.c serial_line.c -o device -lm && ./device /dev/ttyUSB0 */
#define _POSIX_C_SOURCE 200112L

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "device.h"

static int port = -1;

static void say(const char *text) {
  size_t left = strlen(text);
  while (left > 0) {
    const ssize_t sent = write(port, text, left);
    if (sent <= 0) return;
    text += sent;
    left -= (size_t)sent;
  }
}

int main(int count, char **arguments) {
  struct termios how;
  char byte;
  if (count != 2) {
    fprintf(stderr, "usage: device SERIAL_LINE\n");
    return 2;
  }
  port = open(arguments[1], O_RDWR | O_NOCTTY);
  if (port < 0 || tcgetattr(port, &how) != 0) {
    fprintf(stderr, "device: %s is no serial line\n", arguments[1]);
    return 2;
  }
  how.c_iflag &= (tcflag_t) ~(ICRNL | IXON | ISTRIP | INLCR | IGNCR);
  how.c_oflag &= (tcflag_t)~OPOST;
  how.c_lflag &= (tcflag_t) ~(ECHO | ICANON | ISIG | IEXTEN);
  how.c_cc[VMIN] = 1;
  how.c_cc[VTIME] = 0;
  cfsetispeed(&how, B9600);
  cfsetospeed(&how, B9600);
  tcsetattr(port, TCSANOW, &how);
  while (read(port, &byte, 1) == 1) device_take(byte, say);
  close(port);
  return 0;
}
