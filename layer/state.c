/* State of the process: the instances and devices, the numbers of threads and submissions. */
#include "layer/layer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

/* The lists of devices and instances. Readers walk them without a lock, in every call. So an object
 * is never unlinked nor freed: a dead one has no key, and is recycled for the next device or
 * instance. */
static struct layer_device *_Atomic devices;
static struct layer_instance *_Atomic instances;

/* Returns the address of the loader's table, which all dispatchable handles of one device or
 * instance share. */
static void *key_of(const void *dispatchable) { return *(void *const *)dispatchable; }

struct layer_device *layer_device_of(const void *dispatchable) {
  struct layer_device *device = atomic_load_explicit(&devices, memory_order_acquire);
  void *key = key_of(dispatchable);
  while (device && atomic_load_explicit(&device->key, memory_order_acquire) != key)
    device = device->next;
  return device;
}

struct layer_instance *layer_instance_of(const void *dispatchable) {
  struct layer_instance *instance = atomic_load_explicit(&instances, memory_order_acquire);
  void *key = key_of(dispatchable);
  while (instance && atomic_load_explicit(&instance->key, memory_order_acquire) != key)
    instance = instance->next;
  return instance;
}

/* Clears all but the link and the key, which readers may load. */
#define CLEAR(object)                                                                              \
  memset(&(object)->handle, 0, sizeof *(object)-offsetof(__typeof__(*(object)), handle))

struct layer_device *layer_device_make(void) {
  pthread_mutex_lock(&list_lock);
  struct layer_device *device = devices;
  while (device && device->is_used) device = device->next;
  if (device) {
    CLEAR(device);
  } else if ((device = calloc(1, sizeof *device))) {
    device->next = devices;
    atomic_store_explicit(&devices, device, memory_order_release);
  }
  if (device) device->is_used = true;
  pthread_mutex_unlock(&list_lock);
  return device;
}

struct layer_instance *layer_instance_make(void) {
  pthread_mutex_lock(&list_lock);
  struct layer_instance *instance = instances;
  while (instance && instance->is_used) instance = instance->next;
  if (instance) {
    CLEAR(instance);
  } else if ((instance = calloc(1, sizeof *instance))) {
    instance->next = instances;
    atomic_store_explicit(&instances, instance, memory_order_release);
  }
  if (instance) instance->is_used = true;
  pthread_mutex_unlock(&list_lock);
  return instance;
}

void layer_device_publish(struct layer_device *device) {
  pthread_mutex_lock(&list_lock);
  atomic_store_explicit(&device->key, key_of(device->handle), memory_order_release);
  pthread_mutex_unlock(&list_lock);
}

void layer_instance_publish(struct layer_instance *instance) {
  atomic_store_explicit(&instance->key, key_of(instance->handle), memory_order_release);
}

void layer_device_hide(struct layer_device *device) {
  pthread_mutex_lock(&list_lock);
  atomic_store_explicit(&device->key, NULL, memory_order_release);
  pthread_mutex_unlock(&list_lock);
}

void layer_device_recycle(struct layer_device *device) {
  pthread_mutex_lock(&list_lock);
  atomic_store_explicit(&device->key, NULL, memory_order_release);
  device->is_used = false;
  pthread_mutex_unlock(&list_lock);
}

void layer_instance_recycle(struct layer_instance *instance) {
  pthread_mutex_lock(&list_lock);
  atomic_store_explicit(&instance->key, NULL, memory_order_release);
  instance->is_used = false;
  pthread_mutex_unlock(&list_lock);
}

void layer_state_forget(void) {
  pthread_mutex_init(&list_lock, NULL);
  for (struct layer_device *device = devices; device; device = device->next)
    atomic_store_explicit(&device->key, NULL, memory_order_relaxed);
  for (struct layer_instance *instance = instances; instance; instance = instance->next)
    atomic_store_explicit(&instance->key, NULL, memory_order_relaxed);
}

void layer_for_each_device(void (*visit)(struct layer_device *device, void *user), void *user) {
  pthread_mutex_lock(&list_lock);
  for (struct layer_device *device = devices; device; device = device->next)
    if (atomic_load_explicit(&device->key, memory_order_relaxed)) visit(device, user);
  pthread_mutex_unlock(&list_lock);
}

const struct tide_allocator *layer_allocator(void) { return tide_allocator_system(); }

uint64_t layer_thread(void) {
  static _Atomic(uint64_t) threads;
  static _Thread_local uint64_t number;
  if (!number) number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
  return number;
}

uint64_t layer_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t layer_next_number(void) {
  static _Atomic(uint64_t) numbers;
  return atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;
}
