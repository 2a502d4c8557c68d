/* The environment of a run, which configures the Vulkan loader and the layer. */
#include "tool/vulkan_session.h"

#include "layer/build_id.h"
#include "layer/protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TIDE_LAYER_DIRECTORY
#define TIDE_LAYER_DIRECTORY "/usr/local/lib"
#endif

#define LIBRARY "libVkLayer_tidemark.so"
#define LAYER_PATH "VK_LAYER_PATH"
#define ADD_LAYER_PATH "VK_ADD_LAYER_PATH"
#define INSTANCE_LAYERS "VK_INSTANCE_LAYERS"
#define ADDED_MOST 5

extern char **environ;

/* ---- the layer -------------------------------------------------------------------- */

/* The folder "layer" beside the tool: the build tree has the layer there. */
static bool find_built_layer(char *buffer, size_t size) {
  char self[3072];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return false;
  self[length] = 0;
  char *slash = strrchr(self, '/');
  if (!slash) return false;
  *slash = 0;
  return snprintf(buffer, size, "%s/layer/" LIBRARY, self) < (int)size && access(buffer, R_OK) == 0;
}

const char *tide_vulkan_layer_file(char *buffer, size_t size) {
  const char *given = getenv("TIDEMARK_LAYER_PATH");
  char absolute[4096];
  if (given && *given)
    snprintf(buffer, size, "%s/" LIBRARY, realpath(given, absolute) ? absolute : given);
  else if (!find_built_layer(buffer, size))
    snprintf(buffer, size, "%s/" LIBRARY, TIDE_LAYER_DIRECTORY);
  return buffer;
}

/* The loader's choice between layers of one name depends on its release, so the name is unique. */
static void layer_name(char *buffer, size_t size) {
  snprintf(buffer, size, TIDE_VULKAN_LAYER_NAME "_%s", tide_layer_build);
}

bool tide_vulkan_write_manifest(const char *run) {
  char path[TIDE_VULKAN_PATH_MOST + 32], name[128], file[4200];
  snprintf(path, sizeof path, "%s/VkLayer_tidemark.json", run);
  layer_name(name, sizeof name);
  FILE *to = fopen(path, "we");
  if (to) {
    struct tide_json json = tide_tool_json(to);
    tide_json_open(&json, NULL, '{');
    tide_json_text(&json, "file_format_version", "1.2.0");
    tide_json_open(&json, "layer", '{');
    tide_json_text(&json, "name", name);
    tide_json_text(&json, "type", "GLOBAL");
    tide_json_text(&json, "library_path", tide_vulkan_layer_file(file, sizeof file));
    tide_json_text(&json, "api_version", TIDE_VULKAN_LAYER_API);
    tide_json_text(&json, "implementation_version", "1");
    tide_json_text(&json, "description", TIDE_VULKAN_LAYER_TEXT);
    tide_json_close(&json, '}');
    tide_json_close(&json, '}');
    bool good = !ferror(to);
    if (fclose(to) == 0 && good) return true;
  }
  tide_tool_error("cannot write '%s': %s", path, strerror(errno));
  return false;
}

void tide_vulkan_explain_silence(const struct tide_vulkan_job *job) {
  char file[4200];
  tide_vulkan_layer_file(file, sizeof file);
  tide_tool_error("no report came from the layer: the program uses no Vulkan, or the loader did "
                  "not load the layer; to check:");
  fprintf(stderr,
          "  - the layer: %s %s ($TIDEMARK_LAYER_PATH names another folder)\n"
          "  - what the loader does: VK_LOADER_DEBUG=error,warn,layer tidemark vulkan %s -- %s\n"
          "  - the program: it creates an instance, and ends by exit() or a return from main\n"
          "  - its rights: the loader ignores " ADD_LAYER_PATH " in a setuid program\n",
          file, access(file, R_OK) == 0 ? "is there" : "is missing",
          tide_vulkan_mode_name(job->mode), job->program[0]);
}

/* ---- options --------------------------------------------------------------------- */

/* The drop list in the layer's form: "own+known". */
static void print_classes(const char *classes, FILE *to) {
  fputs(",drop=", to);
  for (; *classes; classes++) fputc(*classes == ',' ? '+' : *classes, to);
}

static void print_options(const struct tide_vulkan_job *job, const struct tide_vulkan_extra *extra,
                          FILE *to) {
  fprintf(to, "%s", tide_vulkan_mode_name(job->mode));
  if (extra->has_seed) fprintf(to, ",seed=%llu", (unsigned long long)extra->seed);
  if (job->queues) fprintf(to, ",queues=%llu", (unsigned long long)job->queues);
  if (job->families) fputs(",families", to);
  if (job->in_queue) fputs(",in-queue", to);
  if (job->drop_edge) fprintf(to, ",drop-edge=%llu", (unsigned long long)job->drop_edge);
  if (job->drop) print_classes(job->drop, to);
  if (extra->has_after)
    fprintf(to, ",after=%llu:%llu", (unsigned long long)extra->held,
            (unsigned long long)extra->until);
  if (extra->has_prefix) fprintf(to, ",prefix=%llu", (unsigned long long)extra->prefix);
  if (job->trace) fputs(",trace", to);
}

/* ---- the environment ------------------------------------------------------------- */

/* Returns the variable that the layer's folder goes into: the loader ignores VK_ADD_LAYER_PATH
 * where VK_LAYER_PATH is set. */
static const char *folder_variable(void) {
  return getenv(LAYER_PATH) ? LAYER_PATH : ADD_LAYER_PATH;
}

/* True if an entry sets the variable. */
static bool is_entry_of(const char *entry, const char *variable) {
  size_t length = strlen(variable);
  return strncmp(entry, variable, length) == 0 && entry[length] == '=';
}

/* True for a variable that this file sets, or that would reach the layer from outside. */
static bool is_replaced(const char *entry, bool has_layer) {
  const char *const ours[] = {TIDE_VULKAN_OPTIONS, TIDE_VULKAN_DIRECTORY, TIDE_VULKAN_REPLAY};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    if (is_entry_of(entry, ours[i])) return true;
  return has_layer &&
         (is_entry_of(entry, folder_variable()) || is_entry_of(entry, INSTANCE_LAYERS));
}

/* "NAME=BEFORE:AFTER", without the colon where one of them is empty. NULL: out of memory. */
static char *join_entry(const char *name, const char *before, const char *after) {
  char *entry = NULL;
  if (!before) before = "";
  if (!after) after = "";
  if (asprintf(&entry, "%s=%s%s%s", name, before, *before && *after ? ":" : "", after) < 0)
    return NULL;
  return entry;
}

static char *make_options(const struct tide_vulkan_job *job,
                          const struct tide_vulkan_extra *extra) {
  char *text = NULL;
  size_t length;
  FILE *to = open_memstream(&text, &length);
  if (!to) return NULL;
  print_options(job, extra, to);
  if (fclose(to) != 0) return NULL;
  char *entry = join_entry(TIDE_VULKAN_OPTIONS, text, NULL);
  free(text);
  return entry;
}

/* "VK_INSTANCE_LAYERS=OTHERS:OURS": a second layer of Tidemark would see its own submissions. NULL:
 * out of memory. */
static char *make_layers(void) {
  const char *given = getenv(INSTANCE_LAYERS);
  char name[128], *text = NULL, *entry = NULL;
  size_t length;
  layer_name(name, sizeof name);
  FILE *to = open_memstream(&text, &length);
  if (!to) return NULL;
  for (const char *at = given ? given : ""; *at;) {
    size_t size = strcspn(at, ":");
    bool is_ours = strncmp(at, TIDE_VULKAN_LAYER_NAME, strlen(TIDE_VULKAN_LAYER_NAME)) == 0;
    if (size && !is_ours) fprintf(to, "%.*s:", (int)size, at);
    at += size + (at[size] == ':');
  }
  fputs(name, to);
  if (fclose(to) == 0) entry = join_entry(INSTANCE_LAYERS, text, NULL);
  free(text);
  return entry;
}

/* Appends the variables for the loader and the layer. False: out of memory. */
static bool append_layer(char **at, const struct tide_vulkan_job *job, const char *run,
                         const struct tide_vulkan_extra *extra) {
  const char *folder = folder_variable();
  if (!(*at++ = make_options(job, extra))) return false;
  if (!(*at++ = join_entry(TIDE_VULKAN_DIRECTORY, run, NULL))) return false;
  if (!(*at++ = join_entry(folder, getenv(folder), run))) return false; /* the user's first */
  if (!(*at++ = make_layers())) return false;
  return !extra->replay || (*at = join_entry(TIDE_VULKAN_REPLAY, extra->replay, NULL)) != NULL;
}

char **tide_vulkan_environment(const struct tide_vulkan_job *job, const char *run,
                               const struct tide_vulkan_extra *extra) {
  size_t count = 0, kept = 0;
  while (environ[count]) count++;
  char **environment = calloc(count + ADDED_MOST + 1, sizeof *environment);
  if (!environment) return NULL;
  for (size_t i = 0; i < count; i++) {
    if (is_replaced(environ[i], run != NULL)) continue;
    if (!(environment[kept] = strdup(environ[i]))) goto failed;
    kept++;
  }
  if (!run || append_layer(environment + kept, job, run, extra)) return environment;
failed:
  tide_vulkan_environment_free(environment);
  return NULL;
}

void tide_vulkan_environment_free(char **environment) {
  for (char **at = environment; at && *at; at++) free(*at);
  free(environment);
}
