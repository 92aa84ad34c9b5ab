import math
import torch
from torch import nn

torch.manual_seed(2)
x = torch.randn(2, 5, 16)
padding = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], dtype=torch.bool)


class MultiHeadAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.W_q = nn.Linear(width, width)
        self.W_k = nn.Linear(width, width)
        self.W_v = nn.Linear(width, width)
        self.W_o = nn.Linear(width, width)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, x, padding):
        q, k, v = self.split(self.W_q(x)), self.split(self.W_k(x)), self.split(self.W_v(x))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        scores = scores.masked_fill(padding[:, None, None, :], -1e9)
        weights = torch.softmax(scores, dim=-1)
        joined = (weights @ v).transpose(1, 2).reshape(x.shape)
        return self.W_o(joined), weights


output, weights = MultiHeadAttention(16, 4)(x, padding)
print(weights[0, 0])
print(output[0, 0])
