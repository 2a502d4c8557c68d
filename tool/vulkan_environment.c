/* The environment of a run, which configures the Vulkan loader and the layer. */
#include "tool/vulkan_session.h"

#include "layer/protocol.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TIDE_LAYER_DIRECTORY
#define TIDE_LAYER_DIRECTORY "/usr/local/share/vulkan/explicit_layer.d"
#endif

#define MANIFEST "VkLayer_tidemark.json"
#define ADD_LAYER_PATH "VK_ADD_LAYER_PATH"
#define INSTANCE_LAYERS "VK_INSTANCE_LAYERS"
#define ADDED_MOST 5

extern char **environ;

/* ---- the layer's directory ------------------------------------------------------- */

/* The folder "layer" beside the tool: the build tree has the manifest there. */
static bool find_built_layer(char *buffer, size_t size) {
  char self[3072], manifest[4096];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return false;
  self[length] = 0;
  char *slash = strrchr(self, '/');
  if (!slash) return false;
  *slash = 0;
  snprintf(manifest, sizeof manifest, "%s/layer/" MANIFEST, self);
  if (access(manifest, R_OK) != 0) return false;
  return snprintf(buffer, size, "%s/layer", self) < (int)size;
}

static const char *layer_directory(char *buffer, size_t size) {
  const char *given = getenv("TIDEMARK_LAYER_PATH");
  if (given && *given) return given;
  return find_built_layer(buffer, size) ? buffer : TIDE_LAYER_DIRECTORY;
}

void tide_vulkan_explain_silence(const struct tide_vulkan_job *job) {
  char buffer[4096], manifest[4200];
  snprintf(manifest, sizeof manifest, "%s/" MANIFEST, layer_directory(buffer, sizeof buffer));
  tide_tool_error("no report came from the layer: the program uses no Vulkan, or the loader did "
                  "not load the layer; to check:");
  fprintf(stderr,
          "  - the layer's manifest: %s %s ($TIDEMARK_LAYER_PATH names another folder)\n"
          "  - what the loader does: VK_LOADER_DEBUG=error,warn,layer tidemark vulkan %s -- %s\n"
          "  - the program: it creates an instance, and ends by exit() or a return from main\n"
          "  - its rights: the loader ignores " ADD_LAYER_PATH " in a setuid program\n",
          manifest, access(manifest, R_OK) == 0 ? "is there" : "is missing",
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

/* True for a variable that this file sets, or that would reach the layer from outside. */
static bool is_replaced(const char *entry, bool has_layer) {
  static const char *const ours[] = {TIDE_VULKAN_OPTIONS "=", TIDE_VULKAN_DIRECTORY "=",
                                     TIDE_VULKAN_REPLAY "="};
  static const char *const loaders[] = {ADD_LAYER_PATH "=", INSTANCE_LAYERS "="};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    if (strncmp(entry, ours[i], strlen(ours[i])) == 0) return true;
  for (size_t i = 0; i < sizeof loaders / sizeof *loaders && has_layer; i++)
    if (strncmp(entry, loaders[i], strlen(loaders[i])) == 0) return true;
  return false;
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

/* Appends the variables for the loader and the layer. False: out of memory. */
static bool append_layer(char **at, const struct tide_vulkan_job *job, const char *run,
                         const struct tide_vulkan_extra *extra) {
  char buffer[4096];
  const char *layers = layer_directory(buffer, sizeof buffer);
  if (!(*at++ = make_options(job, extra))) return false;
  if (!(*at++ = join_entry(TIDE_VULKAN_DIRECTORY, run, NULL))) return false;
  if (!(*at++ = join_entry(ADD_LAYER_PATH, layers, getenv(ADD_LAYER_PATH)))) return false;
  if (!(*at++ = join_entry(INSTANCE_LAYERS, getenv(INSTANCE_LAYERS), TIDE_VULKAN_LAYER_NAME)))
    return false;
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
