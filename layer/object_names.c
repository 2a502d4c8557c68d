/* Names of objects in reports: the names that the program gave, else numbers in order. */
#include "layer/layer.h"

#include "base/text.h"
#include <string.h>

void layer_clean_text(char *to, size_t size, const char *from) {
  size_t length = 0;
  for (const char *c = from; *c && length + 5 < size;) {
    size_t bytes = tide_text_utf8(c);
    if (bytes == 0 || (unsigned char)*c < 32 || *c == 127) {
      to[length++] = '?';
      c++;
      continue;
    }
    memcpy(to + length, c, bytes);
    length += bytes;
    c += bytes;
  }
  to[length] = 0;
}

const char *layer_name_queue(const struct layer_queue *queue, struct layer_text *text) {
  if (queue->name[0]) snprintf(text->text, sizeof text->text, "queue '%s'", queue->name);
  else
    snprintf(text->text, sizeof text->text, "queue %u.%u", queue->family, queue->index_in_family);
  return text->text;
}

const char *layer_name_semaphore(const struct layer_semaphore *semaphore, struct layer_text *text) {
  const char *kind = semaphore->timeline ? "timeline" : "semaphore";
  if (semaphore->name[0]) snprintf(text->text, sizeof text->text, "%s '%s'", kind, semaphore->name);
  else
    snprintf(text->text, sizeof text->text, "%s %llu", kind, (unsigned long long)semaphore->serial);
  return text->text;
}

const char *layer_name_fence(const struct layer_fence *fence, struct layer_text *text) {
  if (fence->name[0]) snprintf(text->text, sizeof text->text, "fence '%s'", fence->name);
  else
    snprintf(text->text, sizeof text->text, "fence 0x%llx",
             (unsigned long long)(uint64_t)fence->handle);
  return text->text;
}

const char *layer_name_commands(const struct layer_submission *submission) {
  if (!submission->command_count) return NULL;
  return layer_table_find(&submission->queue->device->names,
                          (uint64_t)(uintptr_t)submission->commands[0]);
}

const char *layer_name_submission(const struct layer_submission *submission,
                                  struct layer_text *text) {
  static const char *const kinds[] = {"submission", "present", "sparse bind"};
  struct layer_text queue;
  const char *command = layer_name_commands(submission);
  char shown[45] = "";
  if (command) layer_clean_text(shown, sizeof shown, command); /* cut between characters */
  snprintf(text->text, sizeof text->text, "%s %llu (%.90s%s%s%s)", kinds[submission->kind],
           (unsigned long long)submission->number, layer_name_queue(submission->queue, &queue),
           command ? ", '" : "", shown, command ? "'" : "");
  return text->text;
}
