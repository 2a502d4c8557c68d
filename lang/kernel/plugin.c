/* Plugins: bodies from a shared object. The plugin's table is checked here once, so that its users
 * can trust it. */
#include "base/text.h"
#include "kernel/builtin_bodies.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define BODIES_MOST 4096
#define NAME_MOST 31

/* True if a program can use the name: letters, digits and _, with no digit first. */
static bool good_name(const char *name) {
  if (!name || !name[0] || (name[0] >= '0' && name[0] <= '9')) return false;
  size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  return name[length] == '\0' && length <= NAME_MOST;
}

static enum tide_status check_params(const char *path, const struct tide_body *body,
                                     struct tide_diag *diag) {
  const char *name = body->class_.name;
  if (body->param_count > TIDE_PARAMS_MAX || (body->param_count && !body->params))
    return tide_diag_set(diag, TIDE_CORRUPT,
                         "plugin %s: body '%s' has %zu parameters; 0 to %zu fit", path, name,
                         body->param_count, (size_t)TIDE_PARAMS_MAX);
  bool optional = false;
  for (size_t i = 0; i < body->param_count; i++) {
    const struct tide_param *param = &body->params[i];
    if (!good_name(param->name))
      return tide_diag_set(diag, TIDE_CORRUPT, "plugin %s: parameter %zu of body '%s' has no name",
                           path, i + 1, name);
    if ((unsigned)param->kind > TIDE_PARAM_TEXT)
      return tide_diag_set(diag, TIDE_CORRUPT,
                           "plugin %s: parameter '%s' of body '%s' has unknown kind %u", path,
                           param->name, name, (unsigned)param->kind);
    if (optional && !param->optional)
      return tide_diag_set(diag, TIDE_CORRUPT,
                           "plugin %s: parameter '%s' of body '%s' follows an optional one", path,
                           param->name, name);
    for (size_t j = 0; j < i; j++)
      if (strcmp(body->params[j].name, param->name) == 0)
        return tide_diag_set(diag, TIDE_CORRUPT, "plugin %s: body '%s' has two parameters '%s'",
                             path, name, param->name);
    optional = param->optional;
  }
  return TIDE_OK;
}

static enum tide_status check_body(const char *path, const struct tide_plugin *plugin, size_t index,
                                   struct tide_diag *diag) {
  const struct tide_body *body = &plugin->bodies[index];
  const struct tide_body_class *class_ = &body->class_;
  if (!good_name(class_->name))
    return tide_diag_set(diag, TIDE_CORRUPT,
                         "plugin %s: body %zu needs a name of letters, digits and _", path,
                         index + 1);
  for (size_t i = 0; i < index; i++)
    if (strcmp(plugin->bodies[i].class_.name, class_->name) == 0)
      return tide_diag_set(diag, TIDE_CORRUPT, "plugin %s: body '%s' comes twice", path,
                           class_->name);
  const struct tide_body_ops *ops = class_->ops;
  const struct tide_file_ops *file = NULL;
  if (ops && ops->kind == TIDE_OPS_FILE) file = (const struct tide_file_ops *)(const void *)ops;
  if (!class_->host && !ops)
    return tide_diag_set(diag, TIDE_CORRUPT, "plugin %s: body '%s' has no function", path,
                         class_->name);
  if (file &&
      (file->verb == TIDE_IO_NONE || (unsigned)file->verb > TIDE_IO_SYNC || !file->describe))
    return tide_diag_set(diag, TIDE_CORRUPT,
                         "plugin %s: the file ops of body '%s' need a verb and a function", path,
                         class_->name);
  return check_params(path, body, diag);
}

static enum tide_status check_plugin(const char *path, const struct tide_plugin *plugin,
                                     struct tide_diag *diag) {
  if (!plugin) return tide_diag_set(diag, TIDE_CORRUPT, "plugin %s: it has no table", path);
  if (plugin->abi != TIDE_PLUGIN_ABI)
    return tide_diag_set(diag, TIDE_MISMATCH, "plugin %s: built for plugin ABI %u; this is ABI %u",
                         path, plugin->abi, (unsigned)TIDE_PLUGIN_ABI);
  if (plugin->body_count == 0 || plugin->body_count > BODIES_MOST || !plugin->bodies)
    return tide_diag_set(diag, TIDE_CORRUPT,
                         "plugin %s: its table has %zu bodies; 1 to %u expected", path,
                         plugin->body_count, BODIES_MOST);
  for (size_t i = 0; i < plugin->body_count; i++) {
    enum tide_status status = check_body(path, plugin, i, diag);
    if (status != TIDE_OK) return status;
  }
  return TIDE_OK;
}

/* Opens the file `path`. dlopen would look up a name without a slash in the system's folders. */
static enum tide_status open_library(const char *path, void **out_handle, struct tide_diag *diag) {
  char file[PATH_MAX];
  struct tide_text text;
  tide_text_init(&text, file, sizeof file);
  tide_text_format(&text, "%s%s", strchr(path, '/') ? "" : "./", path);
  if (tide_text_cut(&text))
    return tide_diag_set(diag, TIDE_INVALID, "plugin: a path of %zu bytes is too long",
                         strlen(path));
  if (access(file, R_OK) != 0)
    return tide_diag_set(diag, errno == EACCES ? TIDE_DENIED : TIDE_NOT_FOUND, "plugin %s: %s",
                         path, strerror(errno));
  *out_handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (*out_handle) return TIDE_OK;
  const char *why = dlerror();
  return tide_diag_set(diag, TIDE_CORRUPT, "plugin %s: %s", path, why ? why : "cannot be loaded");
}

enum tide_status tide_plugin_load(const char *path, struct tide_plugin_library **out_library,
                                  const struct tide_plugin **out_plugin, struct tide_diag *diag) {
  if (!path || !path[0] || !out_library || !out_plugin)
    return tide_diag_set(diag, TIDE_INVALID, "plugin: no path given");
  void *handle = NULL;
  enum tide_status status = open_library(path, &handle, diag);
  if (status != TIDE_OK) return status;
  void *symbol = dlsym(handle, "tide_plugin_bodies");
  tide_plugin_entry entry;
  memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from data to function */
  const struct tide_plugin *plugin = NULL;
  if (!symbol) {
    status =
        tide_diag_set(diag, TIDE_NOT_FOUND, "plugin %s: it exports no tide_plugin_bodies", path);
  } else {
    plugin = entry();
    status = check_plugin(path, plugin, diag);
  }
  if (status != TIDE_OK) {
    dlclose(handle);
    return status;
  }
  *out_library = (struct tide_plugin_library *)handle;
  *out_plugin = plugin;
  return TIDE_OK;
}

void tide_plugin_unload(struct tide_plugin_library *library) {
  if (library) dlclose(library);
}
