
/* The module: one function, which finds the overload for the types of its arguments. */

#define MOST 48

/* The pointers that scipy hands out for Cython. */
static int load_blas(void) {
    const char *names[] = {"sgemm", "sgemv", "sdot", "dgemm", "dgemv", "ddot"};
    void *found[6] = {NULL};
    PyObject *module = PyImport_ImportModule("scipy.linalg.cython_blas");
    PyObject *table = module ? PyObject_GetAttrString(module, "__pyx_capi__") : NULL;
    for (int i = 0; table && i < 6; i++) {
        PyObject *capsule = PyMapping_GetItemString(table, names[i]);
        if (capsule) found[i] = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
        Py_XDECREF(capsule);
        if (!found[i]) Py_CLEAR(table);
    }
    Py_XDECREF(module);
    if (!table) return -1;
    Py_DECREF(table);
    sgemm = (sgemm_type *)found[0];
    sgemv = (sgemv_type *)found[1];
    sdot = (sdot_type *)found[2];
    dgemv = (dgemv_type *)found[4];
    ddot = (ddot_type *)found[5];
    dgemm = (dgemm_type *)found[3]; /* last: it says that all are there */
    return 0;
}

typedef struct {
    argument arguments[MOST];
    Py_buffer views[MOST];
    int n_arguments, n_views;
} reading;

/* Read one argument; a tuple stands for its items. 0: read, 1: of a kind that no kernel takes, -1: an error. */
static int read_argument(reading *given, PyObject *object) {
    if (PyTuple_Check(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(object); i++) {
            int state = read_argument(given, PyTuple_GetItem(object, i));
            if (state) return state;
        }
        return 0;
    }
    if (given->n_arguments == MOST) return 1;
    argument *into = &given->arguments[given->n_arguments++];
    if (PyFloat_Check(object)) {
        into->n_dims = 0;
        into->code = 'd';
        into->real = PyFloat_AsDouble(object);
        return 0;
    }
    if (PyLong_Check(object)) {
        into->n_dims = 0;
        into->code = 'q';
        into->whole = PyLong_AsLongLong(object);
        return PyErr_Occurred() ? -1 : 0;
    }
    if (!PyObject_CheckBuffer(object)) return 1;
    Py_buffer *view = &given->views[given->n_views];
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) {
        PyErr_Clear(); /* not C-ordered */
        return 1;
    }
    given->n_views++;
    char code = view->format && view->format[0] && !view->format[1] ? view->format[0] : 0;
    if (code == 'l') code = view->itemsize == 8 ? 'q' : 'i';
    if (code == 'L') code = view->itemsize == 8 ? 'Q' : 'I';
    into->code = code;
    into->n_dims = view->ndim;
    into->p = view->buf;
    if (!view->ndim && code == 'q') memcpy(&into->whole, view->buf, sizeof into->whole); /* numbers of numpy */
    if (!view->ndim && code == 'd') memcpy(&into->real, view->buf, sizeof into->real);
    into->n0 = view->ndim > 0 ? view->shape[0] : 1;
    into->n1 = view->ndim > 1 ? view->shape[1] : 1;
    return 0;
}

static int fits(const overload *one, const reading *given) {
    const char *type = one->types;
    for (int i = 0; i < given->n_arguments; i++, type += 2) {
        const argument *has = &given->arguments[i];
        if (!*type || has->n_dims != *type - '0' || has->code != type[1]) return 0;
    }
    return !*type;
}

static size_t size_of(char code) { return code == 'f' || code == 'i' ? 4 : code == 'b' ? 1 : 8; }

/* A number, or (bytes, code, shape) of an array. */
static PyObject *to_object(const answer *one) {
    if (one->n_dims == 0) return one->code == 'd' ? PyFloat_FromDouble(one->real) : PyLong_FromLongLong(one->whole);
    size_t size = (size_t)one->n0 * (one->n_dims > 1 ? one->n1 : 1) * size_of(one->code);
    PyObject *bytes = PyByteArray_FromStringAndSize((const char *)one->p, (Py_ssize_t)size);
    if (!bytes) return NULL;
    if (one->n_dims == 1) return Py_BuildValue("NC(L)", bytes, one->code, (long long)one->n0);
    return Py_BuildValue("NC(LL)", bytes, one->code, (long long)one->n0, (long long)one->n1);
}

static PyObject *run(PyObject *self, PyObject *const *args, Py_ssize_t n_args) {
    (void)self;
    reading given;
    given.n_arguments = given.n_views = 0;
    long number = n_args ? PyLong_AsLong(args[0]) : -1;
    if (PyErr_Occurred()) return NULL;
    int state = number < 0 || number >= N_KERNELS;
    for (Py_ssize_t i = 1; !state && i < n_args; i++) state = read_argument(&given, args[i]);
    PyObject *result = NULL;
    const overload *one = NULL;
    for (int i = state ? 0 : FIRST[number]; !state && i < FIRST[number + 1]; i++)
        if (fits(&OVERLOADS[i], &given)) {
            one = &OVERLOADS[i];
            break;
        }
    if (state >= 0 && !one) {
        result = Py_NewRef(Py_NotImplemented);
    } else if (one && !(one->uses_blas && !dgemm && load_blas())) {
        answer answers[4];
        volatile int failed = 0;
        char room[8192 + LINE];
        chunk first = {NULL, 8192, 0, (char *)(((uintptr_t)room + LINE - 1) / LINE * LINE)};
        stack memory;
        place bottom = {&first, 0};
        memory.top = &first;
        memory.spare = NULL;
        ASAN_POISON_MEMORY_REGION(first.data, first.size);
        PyThreadState *thread = PyEval_SaveThread();
        if (setjmp(memory.out_of_memory) == 0)
            one->run(&memory, given.arguments, answers);
        else
            failed = 1;
        PyEval_RestoreThread(thread);
        if (failed) {
            PyErr_NoMemory();
        } else if (one->n_answers == 0) {
            result = Py_NewRef(Py_None);
        } else if (one->n_answers == 1) {
            result = to_object(&answers[0]);
        } else {
            result = PyTuple_New(one->n_answers);
            for (int i = 0; result && i < one->n_answers; i++) {
                PyObject *item = to_object(&answers[i]);
                if (!item || PyTuple_SetItem(result, i, item)) Py_CLEAR(result);
            }
        }
        cut(&memory, bottom);
        ASAN_UNPOISON_MEMORY_REGION(first.data, first.size);
        free(memory.spare);
    }
    for (int i = 0; i < given.n_views; i++) PyBuffer_Release(&given.views[i]);
    return result;
}

/* Which of the modules this processor can run: 0 any, 3 and 4 are levels of x86-64. */
static PyObject *level(PyObject *self, PyObject *none) {
    (void)self;
    (void)none;
    long found = 0;
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) found = 3;
    if (found && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
        found = 4;
#endif
    return PyLong_FromLong(found);
}

static PyMethodDef METHODS[] = {
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL, "Run a kernel by its number; NotImplemented for other types."},
    {"level", level, METH_NOARGS, "The level of instructions that this processor has."},
    {NULL, NULL, 0, NULL},
};

static int fill_module(PyObject *module) {
    PyObject *names = PyTuple_New(N_KERNELS);
    if (!names) return -1;
    for (int i = 0; i < N_KERNELS; i++)
        if (PyTuple_SetItem(names, i, PyUnicode_FromString(OVERLOADS[FIRST[i]].name))) return -1;
    int state = PyModule_AddObjectRef(module, "kernels", names);
    Py_DECREF(names);
    return state ? state : PyModule_AddStringConstant(module, "stamp", STAMP);
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, (void *)fill_module}, {0, NULL}};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "native", NULL, 0, METHODS, SLOTS, NULL, NULL, NULL};

#ifndef MODULE_NAME
#define MODULE_NAME native
#endif
#define JOIN(a, b) a##b
#define INIT(name) JOIN(PyInit_, name)

PyMODINIT_FUNC INIT(MODULE_NAME)(void) { return PyModuleDef_Init(&MODULE); }
