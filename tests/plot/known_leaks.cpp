// Fontconfig, as Pango and Cairo use it, keeps font patterns to the end of the process: once for
// each font and size, however often it is drawn with. LeakSanitizer asks for this list by name.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfontconfig\n";
}
