/* layer/protocol.h: the interface between `tidemark vulkan` and the layer.
 *
 * The tool starts the program with environment variables; the layer, inside the program, writes
 * files; the tool reads them. No socket, so nothing is left when either side is killed.
 *
 *   tidemark vulkan  --- TIDEMARK_VULKAN, ..._DIRECTORY, ..._REPLAY --->  program + layer
 *                    --- DIRECTORY/ask: write a report now ------------>
 *                    <-- DIRECTORY/PID.ready: it can be asked ----------
 *                    <-- DIRECTORY/PID.report, PID.order, PID.trace ----
 *
 * The loader finds the layer by a manifest in DIRECTORY, which the tool writes. The manifest has
 * the layer's path, and a name of its own: TIDE_VULKAN_LAYER_NAME, '_' and the build id. Among
 * manifests of one name some loaders take the first and some the last, from an installation
 * perhaps.
 *
 * TIDEMARK_VULKAN is a comma-separated list, of which the first word is the mode:
 *
 *   explain | explore | audit
 *   seed=N         picks among the submissions that may go next; 0 takes them as they came
 *   queues=K       virtual queues of each family that a program sees, 1 to 16
 *   families       adds a compute and a transfer family
 *   in-queue       also changes the order within a queue where nothing links two submissions
 *   drop-edge=N    leaves out edge N of the program's own (numbered from 1 as the report does)
 *   drop=A+B       leaves out the waits of these classes: own, known, sibling, seen, needed
 *   after=X:Y      holds submission X until submission Y is released
 *   prefix=N       follows the recorded order for N picks, then takes submissions as they came
 *   trace          also writes PID.trace
 *
 * An unknown word is an error: the layer prints it and the program goes on without the layer.
 * Without TIDEMARK_VULKAN_DIRECTORY the report goes to stderr.
 *
 * PID.report appears by rename, whole, and is replaced by later ones of the same process. Lines,
 * each "KEY REST", UTF-8, no control characters:
 *
 *   tidemark-vulkan-report 1
 *   process PID NAME
 *   mode explain|explore|audit
 *   layer VERSION BUILD FILE        build_id.h, and the file of the layer
 *   reason exit|request|lost        request: ask, or SIGQUIT; lost: the driver lost the device
 *   device TEXT                     one a device: its name and the driver's
 *   count NAME NUMBER               submissions waits signals; own known sibling seen needed;
 *                                   picks choices forced timer bound flushed; edges dropped; ...
 *   verdict TEXT                    explain, audit: what the report comes to, in a sentence
 *   schedule HEX                    explore: a hash of all picks
 *   finding KIND TEXT               a mistake of the program, sure; KIND is one word
 *   limit TEXT                      a thing that the layer could not see or do in this program
 *   text TEXT                       explain's account, in order; may be empty
 *   edge N TEXT                     an edge that --drop-edge could leave out
 *   wait CLASS COUNT TEXT           audit: equal waits are counted, not repeated
 *   end
 *
 * A report without "end" is not complete. Counts that are missing are 0.
 *
 * PID.order records the releases of explore. Submissions are numbered from 1 as they came, over all
 * queues of the process:
 *
 *   tidemark-vulkan-order 1
 *   pick X of X Y Z                 X went first; Y and Z could have gone instead
 *
 * `pick X of X` was no choice. TIDEMARK_VULKAN_REPLAY names such a file. A recorded submission that
 * is not there, or may not go yet, is reported as finding "diverged", once. */
#ifndef TIDE_LAYER_PROTOCOL_H
#define TIDE_LAYER_PROTOCOL_H

#define TIDE_VULKAN_LAYER_NAME "VK_LAYER_TIDEMARK_causality"
#define TIDE_VULKAN_LAYER_API "1.3.239"
#define TIDE_VULKAN_LAYER_TEXT "Tidemark: explains hangs, explores legal orders, audits waits"
#define TIDE_VULKAN_OPTIONS "TIDEMARK_VULKAN"
#define TIDE_VULKAN_DIRECTORY "TIDEMARK_VULKAN_DIRECTORY"
#define TIDE_VULKAN_REPLAY "TIDEMARK_VULKAN_REPLAY"
#define TIDE_VULKAN_REPORT_HEAD "tidemark-vulkan-report 1"
#define TIDE_VULKAN_ORDER_HEAD "tidemark-vulkan-order 1"
#define TIDE_VULKAN_ASK "ask"
#define TIDE_VULKAN_QUEUES_MOST 16

#endif
