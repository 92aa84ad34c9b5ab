// What Pango takes from GIO: the interface of lists, by which other programs could list its fonts. In the portable archive it
// stands for GIO, which would bring six libraries for file systems.
#include <gio/gio.h>

G_DEFINE_INTERFACE(GListModel, g_list_model, G_TYPE_OBJECT)

static void g_list_model_default_init(GListModelInterface* interface) {
  (void)interface;
}

guint g_list_model_get_n_items(GListModel* list) {
  return G_LIST_MODEL_GET_IFACE(list)->get_n_items(list);
}

void g_list_model_items_changed(GListModel* list, guint position, guint removed, guint added) {
  (void)list, (void)position, (void)removed, (void)added;  // no one listens
}
