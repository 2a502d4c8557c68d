/* Timeline semaphores that other VkDevices have, too, by opaque descriptors. */
#include "device/vulkan_device.h"

#include "base/text.h"
#include "device/descriptor_copy.h"

#include <unistd.h>

static enum tide_status make_semaphore(struct tide_vulkan *vulkan, bool is_exported,
                                       VkSemaphore *out_semaphore, struct tide_diag *diag) {
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  const VkExportSemaphoreCreateInfo export = {
      .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
      .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
  const VkSemaphoreTypeCreateInfo timeline = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                              .pNext = is_exported ? &export : NULL,
                                              .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo create = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &timeline};
  if (!driver->GetSemaphoreFdKHR)
    return tide_diag_set(diag, TIDE_UNSUPPORTED,
                         "%s shares no timeline semaphores by opaque descriptors, or the VkDevice "
                         "was created without VK_KHR_external_semaphore_fd",
                         driver->name);
  return tide_vulkan_explain(diag,
                             driver->CreateSemaphore(driver->device, &create, NULL, out_semaphore),
                             "creating a shared semaphore");
}

enum tide_status tide_vulkan_semaphore_create(struct tide_device *gpu, VkSemaphore *out_semaphore,
                                              int *out_descriptor, struct tide_diag *diag) {
  struct tide_vulkan *vulkan = tide_vulkan_of(gpu);
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  VkSemaphore semaphore;
  enum tide_status status = make_semaphore(vulkan, true, &semaphore, diag);
  if (status != TIDE_OK) return status;
  const VkSemaphoreGetFdInfoKHR get = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                       .semaphore = semaphore,
                                       .handleType =
                                           VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
  status =
      tide_vulkan_explain(diag, driver->GetSemaphoreFdKHR(driver->device, &get, out_descriptor),
                          "making a descriptor of a semaphore");
  if (status == TIDE_OK) *out_semaphore = semaphore;
  else driver->DestroySemaphore(driver->device, semaphore, NULL);
  return status;
}

enum tide_status tide_vulkan_semaphore_open(struct tide_device *gpu, int descriptor,
                                            VkSemaphore *out_semaphore, struct tide_diag *diag) {
  struct tide_vulkan *vulkan = tide_vulkan_of(gpu);
  const struct tide_vulkan_driver *driver = &vulkan->driver;
  VkSemaphore semaphore;
  int copy = -1;
  enum tide_status status = make_semaphore(vulkan, false, &semaphore, diag);
  if (status != TIDE_OK) return status;
  status = tide_descriptor_copy(descriptor, &copy, diag);
  if (status == TIDE_OK) {
    const VkImportSemaphoreFdInfoKHR import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
        .semaphore = semaphore,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
        .fd = copy};
    status = tide_vulkan_explain(diag, driver->ImportSemaphoreFdKHR(driver->device, &import),
                                 "importing a semaphore's descriptor");
  }
  if (status == TIDE_OK) {
    *out_semaphore = semaphore;
    return TIDE_OK;
  }
  if (copy >= 0) close(copy);
  driver->DestroySemaphore(driver->device, semaphore, NULL);
  return status;
}

void tide_vulkan_semaphore_destroy(struct tide_device *gpu, VkSemaphore semaphore) {
  const struct tide_vulkan_driver *driver = &tide_vulkan_of(gpu)->driver;
  driver->DestroySemaphore(driver->device, semaphore, NULL);
}
