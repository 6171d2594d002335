#ifndef STANDIN_MICRO_LOG_H
#define STANDIN_MICRO_LOG_H

__attribute__((format(printf, 1, 2))) void MicroPrintf(const char *format, ...);

#endif
