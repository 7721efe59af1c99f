"""One thread for torch: the tensors of these tests are small, and tests run side by side."""

import torch

torch.set_num_threads(1)
