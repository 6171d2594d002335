#include "port.h"

int main(void)
{
    port_init();
    app_run();
}
