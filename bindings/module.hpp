// The functions that module.cpp calls: one per binding file.
#pragma once

#include <nanobind/nanobind.h>

void bind_fleet(nanobind::module_& m);
void bind_libsvm(nanobind::module_& m);
void bind_model(nanobind::module_& m);
