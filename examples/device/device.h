/* A model on a small device: bytes of a serial line in, answers out. No allocation, no files. */
#ifndef DEVICE_H
#define DEVICE_H

/* One byte of the line. At the end of a line, `say` gets the answer in pieces. */
void device_take(char byte, void (*say)(const char *text));

#endif
